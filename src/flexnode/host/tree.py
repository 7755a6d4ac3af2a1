"""Paths of a machine, walked part by part, so that no link in them leads out of its root directory.

A root file system that is being baked may hold any link; `/etc/resolv.conf` in it must never be the one of
the machine that bakes. The live machine is walked by the same code, with `/` as the root.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_LINKS = 40
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a path leads: an open directory and a name in it, which may not exist."""

    folder: int
    name: str
    path: str  # as the machine itself sees it, with no link left in it but perhaps the last part


@dataclass(frozen=True, slots=True)
class Tree:
    """A directory that is some machine's `/`."""

    root: Path

    @contextmanager
    def place(self, path: str, *, follow: bool = False) -> Iterator[Place]:
        """Where `path` leads, a link in its last part followed or not. OSError where a parent is missing."""
        if not path.startswith("/"):
            raise ValueError(f"not absolute: {path!r}")
        walk = _Walk(self.root)
        try:
            yield walk.go(path, follow=follow)
        finally:
            walk.close()

    def outside(self, path: str) -> str:
        """The path by which this process knows what the machine calls `path`; for programs, after `place`."""
        return str(self.root).rstrip("/") + path


class _Walk:
    """One way from the root, with the directories open that it leads through."""

    def __init__(self, root: Path) -> None:
        self._folders = [os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]
        self._names: list[str] = []
        self._links = 0

    def go(self, path: str, *, follow: bool) -> Place:
        ahead = _parts(path)
        while ahead:
            part = ahead.pop()
            if part == "..":
                self._up()
            elif ahead:
                self._enter(part, ahead)
            else:
                target = _find_link(part, self._folders[-1]) if follow else None
                if target is None:
                    return Place(folder=self._folders[-1], name=part, path=self._path(part))
                self._turn(target, ahead)
        return Place(folder=self._folders[-1], name=".", path=self._path())

    def close(self) -> None:
        while self._folders:
            os.close(self._folders.pop())

    def _enter(self, part: str, ahead: list[str]) -> None:
        try:
            folder = os.open(part, _FOLDER, dir_fd=self._folders[-1])
        except OSError as error:
            # The kernel has two ways to say that a link stands where a directory was asked for.
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            target = _find_link(part, self._folders[-1])
            if target is None:
                raise
            self._turn(target, ahead)
        else:
            self._folders.append(folder)
            self._names.append(part)

    def _turn(self, target: str, ahead: list[str]) -> None:
        self._links += 1
        if self._links > _LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if target.startswith("/"):
            while self._names:
                self._up()
        ahead += _parts(target)

    def _up(self) -> None:
        """To the parent; the root is its own."""
        if self._names:
            self._names.pop()
            os.close(self._folders.pop())

    def _path(self, *more: str) -> str:
        return "/" + "/".join((*self._names, *more))


def _parts(path: str) -> list[str]:
    """The next one last."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _find_link(name: str, folder: int) -> str | None:
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError:
        return None
