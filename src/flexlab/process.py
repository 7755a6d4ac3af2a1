"""The laboratory's processes: started with a mark, found by it, ended by it.

Every process of a lab carries `FLEXLAB_LAB=<folder of the lab>` in its environment, and a daemon its name
besides. The kernel hands that mark to children, so nothing that a lab ever started can be lost: not by a
killed `flexlab up`, not by a stale pid file (there are none).
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flexnode.errors import CommandError
from flexnode.host import Command, Completed
from flexnode.host import run as run_command

LAB_MARK = "FLEXLAB_LAB"
NAME_MARK = "FLEXLAB_PROCESS"

_EXEC_PATIENCE = 50  # milliseconds; an exec takes a fraction of one, on a busy machine some


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a command runs: for which lab, and in whose network namespace (None: the machine's own)."""

    lab: Path
    netns_of: int | None = None

    def wrap(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        if self.netns_of is None:
            return argv
        return ("nsenter", f"--net=/proc/{self.netns_of}/ns/net", "--", *argv)

    def marks(self, name: str = "") -> dict[str, str]:
        marks = {LAB_MARK: str(self.lab)}
        return {**marks, NAME_MARK: name} if name else marks


@dataclass(frozen=True, kw_only=True, slots=True)
class Daemon:
    """A running process of a lab. `name` is empty for a helper that one of its commands started."""

    name: str
    pid: int


def run(
    place: Place,
    argv: tuple[str, ...],
    *,
    timeout: float = 60,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    expect: tuple[int, ...] = (0,),
) -> Completed:
    """Run a command to its end in `place`."""
    return run_command(
        Command(
            argv=place.wrap(argv),
            timeout=timeout,
            stdin=stdin,
            env={**(env or {}), **place.marks()},
            expect=expect,
        )
    )


def attach(place: Place, argv: tuple[str, ...]) -> int:
    """Run an interactive command on the caller's own terminal and return its exit code."""
    return subprocess.run(place.wrap(argv), env={**os.environ, **place.marks()}, check=False).returncode


@dataclass(frozen=True, kw_only=True, slots=True)
class Service:
    """A daemon to start: its output goes to `log`, its working directory is the lab's folder."""

    name: str
    argv: tuple[str, ...]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)


def start(place: Place, service: Service) -> Daemon:
    """Start a daemon that outlives this process. The caller waits until it is ready, whatever that means."""
    service.log.parent.mkdir(parents=True, exist_ok=True)
    with service.log.open("ab") as log:
        try:
            child = subprocess.Popen(
                place.wrap(service.argv),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=place.lab,
                env={**os.environ, **service.env, **place.marks(service.name)},
            )
        except FileNotFoundError as error:
            raise CommandError(
                f"{service.argv[0]} was not found", code="host/command-missing", hint="run `make setup`"
            ) from error
    # The child is meant to outlive us; tell subprocess that nobody will wait for it.
    child.returncode = 0
    return Daemon(name=service.name, pid=child.pid)


def find(lab: Path, name: str | None = None) -> list[Daemon]:
    """The live processes of a lab, or those of one of its daemons (with the helpers that it started)."""
    mark = f"{LAB_MARK}={lab}".encode()
    found = []
    for entry, environ in _list_processes():
        if mark not in environ or _is_dead(entry):
            continue
        prefix = f"{NAME_MARK}=".encode()
        daemon = next((item.removeprefix(prefix).decode() for item in environ if item.startswith(prefix)), "")
        if name is None or daemon == name:
            found.append(Daemon(name=daemon, pid=int(entry.name)))
    return sorted(found, key=lambda daemon: daemon.pid)


def find_labs() -> set[Path]:
    """The folders of all labs that have a live process, whether or not the folder is still there."""
    prefix = f"{LAB_MARK}=".encode()
    return {
        Path(os.fsdecode(item.removeprefix(prefix)))
        for _, environ in _list_processes()
        for item in environ
        if item.startswith(prefix)
    }


def _list_processes() -> Iterator[tuple[Path, list[bytes]]]:
    """Every process that we may look at: its folder in /proc, and its environment."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environ = _read_environment(entry).split(b"\0")
        except OSError:  # it ended while we looked
            continue
        yield entry, environ


def _is_dead(entry: Path) -> bool:
    try:
        return (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _read_environment(entry: Path) -> bytes:
    """A process's environment. It reads as empty while the process becomes another program."""
    for _ in range(_EXEC_PATIENCE):
        if environment := (entry / "environ").read_bytes():
            return environment
        select.select([], [], [], 0.001)
    return b""


def stop(daemons: list[Daemon], *, timeout: float = 10) -> None:
    """End processes: SIGTERM, and SIGKILL for those that do not listen within `timeout` seconds."""
    _signal_and_wait(daemons, signal.SIGTERM, timeout)
    _signal_and_wait(daemons, signal.SIGKILL, timeout)


def kill(daemons: list[Daemon]) -> None:
    """End processes at once, as a power cut does."""
    _signal_and_wait(daemons, signal.SIGKILL, 10)


def _signal_and_wait(daemons: list[Daemon], number: signal.Signals, timeout: float) -> None:
    # A pidfd names this very process: a pid that was reused in between is never hit.
    handles = []
    for daemon in daemons:
        try:
            handles.append(os.pidfd_open(daemon.pid))
        except ProcessLookupError:
            continue
    try:
        for handle in handles:
            try:
                signal.pidfd_send_signal(handle, number)
            except ProcessLookupError:
                continue
        for handle in handles:
            select.select([handle], [], [], timeout)
    finally:
        for handle in handles:
            os.close(handle)
    for daemon in daemons:
        _reap(daemon.pid)


def _reap(pid: int) -> None:
    """Collect our own child, if it is one: a zombie would keep its pid."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
