"""One operation per machine at a time.

The kernel holds the lock, for as long as the process lives and not a moment longer: one of an earlier boot,
or of a process whose number another one has by now, cannot exist. The words in the file only tell who it is.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import msgspec

from flexnode.clock import Clock
from flexnode.errors import StateError
from flexnode.generation.durable import state_error, translate_errors

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_LIMIT = 4096
_PAUSES = (0.05, 0.1, 0.0)  # `find_holder` holds it too, for the blink of an eye


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds the lock, in words for people."""

    pid: int
    boot: str
    operation: str
    since: datetime


@contextmanager
def hold(path: Path, operation: str, *, clock: Clock) -> Iterator[None]:
    """Hold the lock at `path`; state/busy, naming the operation that has it, if somebody else does."""
    with translate_errors(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _lock(handle, path, clock)
        _tell(handle, Holder(pid=os.getpid(), boot=_boot(), operation=operation, since=clock.now()))
        yield
        _tell(handle, None)
    finally:
        os.close(handle)


def find_holder(path: Path) -> Holder | None:
    """Who holds the lock now, as far as the file tells; None if nobody does."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _parse(os.pread(handle, _LIMIT, 0))
    else:
        return None
    finally:
        os.close(handle)


def _lock(handle: int, path: Path, clock: Clock) -> None:
    for pause in _PAUSES:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            clock.sleep(pause)
        except OSError as error:
            raise state_error(path, error) from error
    raise _busy(os.pread(handle, _LIMIT, 0))


def _tell(handle: int, holder: Holder | None) -> None:
    """Write the words. They are not worth failing for: a full disk must not keep anybody from leaving."""
    try:
        os.ftruncate(handle, 0)
        if holder is not None:
            os.pwrite(handle, msgspec.json.encode(holder), 0)
    except OSError:
        pass


def _busy(words: bytes) -> StateError:
    holder = _parse(words)
    who = f": {holder.operation}, process {holder.pid}, since {holder.since:%H:%M:%S} UTC" if holder else ""
    return StateError(
        f"an operation is running on this machine already{who}",
        code="state/busy",
        transient=True,
        hint="wait for its end, or follow it with `aks-flex-node status`",
    )


def _parse(words: bytes) -> Holder | None:
    try:
        holder = msgspec.json.decode(words, type=Holder)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    # Words of an earlier boot are left over: whoever holds the lock now has not written its own yet.
    return holder if holder.boot == _boot() else None


def _boot() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""
