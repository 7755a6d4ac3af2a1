"""Hearing of changed files at once: inotify(7), of which Python's library knows nothing.

Directories are watched, not files: whoever replaces a file by renaming another one over it changes the
directory. What lies in one that does not exist yet is heard of when that directory appears.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Protocol

_EVENT = struct.Struct("iIII")
_BUFFER = 1 << 16

_ATTRIB, _CLOSE_WRITE = 0x004, 0x008
_MOVED, _CREATE, _DELETE = 0x0C0, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_ONLYDIR = 0x1000000
_MASK = _ATTRIB | _CLOSE_WRITE | _MOVED | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF | _ONLYDIR
_GONE = _DELETE_SELF | _MOVE_SELF | _IGNORED


class Watch(Protocol):
    """Follows files by their paths."""

    def follow(self, paths: Iterable[str]) -> None:
        """From now on these and no others. What happened to them before counts no more."""
        ...

    def changed(self) -> frozenset[str]:
        """Which of them were touched since the last call."""
        ...

    def fileno(self) -> int:
        """Readable once something may have changed; -1: nothing will ever tell."""
        ...


class Blind:
    """Where the kernel gives no inotify instance any more: the slow look at everything must do."""

    def follow(self, paths: Iterable[str]) -> None:
        pass

    def changed(self) -> frozenset[str]:
        return frozenset()

    def fileno(self) -> int:
        return -1


class Inotify:
    """A `Watch`. What cannot be watched, for there are limits, is left to the slow look."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._handle = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._handle < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        self._paths: frozenset[str] = frozenset()
        self._names: dict[str, dict[str, set[str]]] = {}  # directory: name in it: the paths behind it
        self._watches: dict[int, str] = {}

    def fileno(self) -> int:
        return int(self._handle)

    def close(self) -> None:
        os.close(self._handle)

    def follow(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(paths)
        self._arm()
        for _ in self._events():
            pass

    def changed(self) -> frozenset[str]:
        touched: set[str] = set()
        heard = False
        for watch, mask, name in self._events():
            heard = True
            directory = self._watches.get(watch, "")
            names = self._names.get(directory, {})
            if mask & _OVERFLOW:
                touched |= self._paths
            elif mask & _GONE:
                touched.update(*names.values())
                if mask & _IGNORED:
                    self._watches.pop(watch, None)
            else:
                touched |= names.get(name, set())
        if heard and touched:
            # Directories may have come or gone: stand where things are now.
            self._arm()
        return frozenset(touched)

    def _arm(self) -> None:
        self._names = {}
        for path in self._paths:
            directory, name = _find_anchor(path)
            self._names.setdefault(directory, {}).setdefault(name, set()).add(path)
        for watch, directory in list(self._watches.items()):
            if directory not in self._names:
                self._libc.inotify_rm_watch(self._handle, watch)
                del self._watches[watch]
        for directory in self._names:
            watch = self._libc.inotify_add_watch(self._handle, os.fsencode(directory), _MASK)
            if watch >= 0:
                self._watches[watch] = directory

    def _events(self) -> Iterator[tuple[int, int, str]]:
        while data := self._read():
            offset = 0
            while offset < len(data):
                watch, mask, _, length = _EVENT.unpack_from(data, offset)
                offset += _EVENT.size
                yield watch, mask, os.fsdecode(data[offset : offset + length].rstrip(b"\0"))
                offset += length

    def _read(self) -> bytes:
        try:
            return os.read(self._handle, _BUFFER)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EINTR):
                return b""
            raise


def open_watch() -> Watch:
    with suppress(OSError):
        return Inotify()
    return Blind()


def _find_anchor(path: str) -> tuple[str, str]:
    """The nearest directory above `path` that exists, and the name in it that leads there."""
    child = PurePosixPath(path)
    for parent in child.parents:
        if os.path.isdir(parent):
            return str(parent), child.name
        child = parent
    return "/", child.name
