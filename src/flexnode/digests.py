"""What files hold, told by their digests, without reading again what cannot have changed since.

A file is known again by its device, inode, size, and the times of its last change. Whoever writes to a file
can set its modification time back, but not its ctime: no call sets that one, and the kernel moves it on with
every change of content, name, owner, mode, and of the modification time itself. A clock that is set back, a
disk that is changed elsewhere, and one that rots deceive it all the same. So this only saves work: what is
about to be used is read (`flexnode.artifacts.store`), and the agent reads everything again now and then.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from flexnode.clock import Clock, SystemClock

SETTLED = 2.0
"""Seconds after which a file's times tell a later change from an earlier one, on any file system."""


class Known(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A file as it was when it was read, and its SHA-256."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    sha256: str


class Digests:
    """Remembers by path. `known` is what an earlier process remembered."""

    def __init__(self, *, clock: Clock | None = None, known: Mapping[str, Known] | None = None) -> None:
        self._clock = clock or SystemClock()
        self._known = dict(known or {})
        self._kept = dict(self._known)

    def of(self, path: str, file: int) -> str:
        """The digest of an open file. `path` is where it lies, and stands for it until `forget`."""
        known = self._known.get(path)
        if known is not None and _is_same(known, os.fstat(file)):
            return known.sha256
        return self._read(path, file)

    def of_file(self, path: Path) -> str:
        """The digest of the file at `path`; an OSError where there is none, or a link in its place."""
        with _open(path) as file:
            return self.of(str(path), file)

    def read(self, path: Path) -> str:
        """The digest of the file at `path`, whatever is remembered of it."""
        with _open(path) as file:
            return self._read(str(path), file)

    def forget(self) -> None:
        """From now on every file is read again, once."""
        self._known.clear()

    @property
    def new(self) -> bool:
        """Whether something is known that `known` did not tell, or told otherwise."""
        return any(self._kept.get(path) != known for path, known in self._known.items())

    def take_stock(self) -> Mapping[str, Known]:
        """All that is worth keeping for another process; from now on that is no news any more."""
        self._known = {path: known for path, known in self._known.items() if _lies_there(path, known)}
        self._kept = dict(self._known)
        return self._kept

    def _read(self, path: str, file: int) -> str:
        found = os.fstat(file)
        begun = self._clock.now().timestamp()
        with open(file, "rb", closefd=False) as reader:
            sha256 = hashlib.file_digest(reader, "sha256").hexdigest()
        # Within one tick of its clock a file can change twice under the same times: what was read so soon
        # after a change says nothing about tomorrow.
        if begun - max(found.st_mtime, found.st_ctime) > SETTLED:
            self._known[path] = _describe(found, sha256)
        return sha256


@contextmanager
def _open(path: Path) -> Iterator[int]:
    # Nothing is opened that waits for another process, as a pipe would.
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)


def _describe(found: os.stat_result, sha256: str) -> Known:
    return Known(
        device=found.st_dev,
        inode=found.st_ino,
        size=found.st_size,
        mtime_ns=found.st_mtime_ns,
        ctime_ns=found.st_ctime_ns,
        sha256=sha256,
    )


def _is_same(known: Known, found: os.stat_result) -> bool:
    return known == _describe(found, known.sha256)


def _lies_there(path: str, known: Known) -> bool:
    try:
        return _is_same(known, os.stat(path, follow_symlinks=False))
    except OSError:
        return False
