"""Remove a directory with all in it, and never what lies behind a mount."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable

from flexnode.host.mounts import mount_number

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEEP = 100
_DEAD = (errno.ENOTCONN, errno.ESTALE, errno.EIO)
"""What a mount says whose server or program is gone."""
_MOVED = ".flexnode-deep-"


class Removal:
    """One tree. `kept` are the mounts that were met, as paths below `path`.

    Directories are opened, not named, so that whoever swaps one for a link meanwhile cannot point us
    elsewhere. Pods may leave trees deeper than a process may hold directories open: what lies too deep is
    moved up first.
    """

    def __init__(
        self, folder: int, name: str, path: str, *, number: Callable[[int], str] = mount_number
    ) -> None:
        self.kept: list[str] = []
        self._folder = folder
        self._name = name
        self._path = path
        self._top = -1
        self._mount = ""
        self._number = number
        self._moved = 0

    def run(self) -> None:
        """Remove it; raises OSError where an entry cannot be removed for any other reason than a mount."""
        if not stat.S_ISDIR(os.stat(self._name, dir_fd=self._folder, follow_symlinks=False).st_mode):
            self._unlink(self._name, self._folder, self._path)
            return
        self._top = os.open(self._name, _FOLDER, dir_fd=self._folder)
        try:
            self._mount = self._number(self._top)
            if self._mount != self._number(self._folder):
                self.kept.append(self._path)
                return
            before = -1
            while before != self._moved:  # until nothing was moved up any more
                before = self._moved
                self._empty(self._top, self._path, 0)
        finally:
            os.close(self._top)
        self._rmdir(self._name, self._folder, self._path)

    def _empty(self, folder: int, path: str, depth: int) -> None:
        for name in sorted(os.listdir(folder)):
            below = f"{path}/{name}"
            try:
                info = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno not in _DEAD:
                    raise
                self.kept.append(below)
                continue
            if not stat.S_ISDIR(info.st_mode):
                self._unlink(name, folder, below)
            elif depth >= _DEEP and not self.kept:
                self._moved += 1
                there = _MOVED + os.urandom(8).hex()
                os.rename(name, there, src_dir_fd=folder, dst_dir_fd=self._top)
            else:
                self._descend(name, folder, below, depth)

    def _descend(self, name: str, folder: int, path: str, depth: int) -> None:
        inner = os.open(name, _FOLDER, dir_fd=folder)
        try:
            if self._number(inner) != self._mount:
                self.kept.append(path)
                return
            self._empty(inner, path, depth + 1)
        finally:
            os.close(inner)
        self._rmdir(name, folder, path)

    def _unlink(self, name: str, folder: int, path: str) -> None:
        try:
            os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            self.kept.append(path)  # a file that something is mounted on

    def _rmdir(self, name: str, folder: int, path: str) -> None:
        try:
            os.rmdir(name, dir_fd=folder)
        except FileNotFoundError:
            pass
        except OSError as error:
            inside = [kept for kept in self.kept if kept.startswith(path + "/")]
            if error.errno == errno.EBUSY and not inside:
                self.kept.append(path)  # the mount came after the look at it
            elif error.errno not in (errno.EBUSY, errno.ENOTEMPTY) or not inside:
                raise
