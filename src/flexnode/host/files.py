"""The files of a machine: the live one, or one whose root file system lies in a directory."""

from __future__ import annotations

import errno
import os
import posixpath
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flexnode.digests import Digests
from flexnode.errors import CommandError, HostError
from flexnode.host.attributes import read_xattrs, set_attributes
from flexnode.host.command import Command, Completed, run
from flexnode.host.door import FileInfo, FileKind
from flexnode.host.durable import copy, pour, sync, write_file, write_link
from flexnode.host.failures import NOTHING_THERE, Code, failure, translate_os_error
from flexnode.host.mounts import is_below, load_mounts, sort_deepest
from flexnode.host.owners import Owners
from flexnode.host.removal import Removal
from flexnode.host.tree import Place, Tree

_KINDS = {stat.S_IFREG: FileKind.FILE, stat.S_IFDIR: FileKind.DIRECTORY, stat.S_IFLNK: FileKind.LINK}


@dataclass(kw_only=True)
class TreeFiles:
    """Files below a root directory. Links are followed inside of it, as the machine itself would."""

    root: Path
    owners: Owners = field(default_factory=Owners)
    run: Callable[[Command], Completed] = run
    mounts: Callable[[], tuple[str, ...]] = load_mounts
    digests: Digests = field(default_factory=Digests)

    def find(self, path: str) -> FileInfo | None:
        try:
            with self._at(path, f"look at {path}") as place:
                return self._find_info(place)
        except HostError as error:
            if error.code in NOTHING_THERE:
                return None
            raise

    def read(self, path: str) -> bytes:
        with self._at(path, f"read {path}", follow=True) as place, _open_file(place) as file:
            chunks = []
            while data := os.read(file, 1 << 20):
                chunks.append(data)
            return b"".join(chunks)

    def digest(self, path: str) -> str:
        with self._at(path, f"read {path}", follow=True) as place, _open_file(place) as file:
            return self.digests.of(Tree(self.root).outside(place.path), file)

    def list(self, path: str) -> Sequence[str]:
        with self._at(path, f"list {path}", follow=True) as place:
            folder = os.open(place.name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.folder)
            try:
                return sorted(os.listdir(folder))
            finally:
                os.close(folder)

    def links(self, path: str) -> Mapping[str, str]:
        with self._at(path, f"list {path}", follow=True) as place:
            folder = os.open(place.name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.folder)
            try:
                targets = ((name, _find_target(name, folder)) for name in sorted(os.listdir(folder)))
                return {name: target for name, target in targets if target is not None}
            finally:
                os.close(folder)

    def mounts_below(self, path: str) -> Sequence[str]:
        try:
            with self._at(path, f"look at {path}", follow=True) as place:
                return self._mounts_below(place.path)
        except HostError as error:
            if error.code in NOTHING_THERE:
                return []
            raise

    def write(self, path: str, data: bytes, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        self._write(path, pour(data), mode=mode, uid=uid, gid=gid)

    def install(self, path: str, source: Path, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        self._write(path, copy(source), mode=mode, uid=uid, gid=gid)

    def set_attributes(
        self,
        path: str,
        *,
        mode: int | None = None,
        uid: int | None = None,
        gid: int | None = None,
        xattrs: Mapping[str, bytes] | None = None,
        mtime_ns: int | None = None,
    ) -> None:
        with self._at(path, f"change {path}") as place:
            owner = self.owners.outside(uid, gid)
            set_attributes(place, mode=mode, owner=owner, xattrs=xattrs, mtime_ns=mtime_ns)

    def make_directory(self, path: str, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        with self._at(path, f"make the directory {path}") as place:
            try:
                os.mkdir(place.name, 0o700, dir_fd=place.folder)
            except FileExistsError:
                there = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
                if not stat.S_ISDIR(there.st_mode):
                    raise
            set_attributes(place, mode=mode, owner=self.owners.outside(uid, gid))
            sync(place.folder)

    def make_link(self, path: str, target: str) -> None:
        with self._at(path, f"link {path}") as place:
            _refuse_directory(place)
            write_link(place, target)

    def rename(self, source: str, target: str) -> None:
        what = f"rename {source} to {target}"
        with self._at(source, what) as old, self._at(target, what) as new:
            os.rename(old.name, new.name, src_dir_fd=old.folder, dst_dir_fd=new.folder)
            sync(new.folder)
            sync(old.folder)

    def remove(self, path: str) -> None:
        if self.find(path) is None:
            return
        with self._at(path, f"remove {path}") as place:
            info = _find_stat(place)
            if info is None:
                return
            if stat.S_ISDIR(info.st_mode):
                os.rmdir(place.name, dir_fd=place.folder)
            else:
                os.unlink(place.name, dir_fd=place.folder)
            sync(place.folder)

    def remove_tree(self, path: str) -> Sequence[str]:
        if self.find(path) is None:
            return []
        with self._at(path, f"remove {path}") as place:
            removal = Removal(place.folder, place.name, place.path)
            removal.run()
            sync(place.folder)
            return sort_deepest(removal.kept)

    def unmount(self, path: str) -> None:
        if self.find(posixpath.dirname(path)) is None:
            return
        with self._at(path, f"unmount {path}") as place:
            inside = place.path
        if inside not in self._mounts_below(inside):
            return
        # The program knows what ctypes does not: which mounts have a helper that must take part in their end.
        try:
            self.run(Command(argv=("umount", "-c", Tree(self.root).outside(inside)), timeout=30.0))
        except CommandError as error:
            if error.code == "host/command-missing" or error.transient:
                raise
            raise failure(
                Code.BUSY,
                f"cannot unmount {path}: {error.message.rpartition(': ')[2]}",
                hint=f"see who uses it: fuser -vm {path}",
            ) from error

    def _write(self, path: str, fill: Callable[[int], None], *, mode: int, uid: int, gid: int) -> None:
        with self._at(path, f"write {path}") as place:
            _refuse_directory(place)
            owner = self.owners.outside(uid, gid)
            write_file(place, fill, mode=mode, uid=owner[0], gid=owner[1])

    def _mounts_below(self, path: str) -> Sequence[str]:
        root = str(self.root).rstrip("/")
        points = [point[len(root) :] or "/" for point in self.mounts() if is_below(point, root or "/")]
        return sort_deepest([point for point in points if is_below(point, path)])

    def _find_info(self, place: Place) -> FileInfo | None:
        info = _find_stat(place)
        if info is None:
            return None
        kind = _KINDS.get(stat.S_IFMT(info.st_mode), FileKind.OTHER)
        uid, gid = self.owners.inside(info.st_uid, info.st_gid)
        return FileInfo(
            kind=kind,
            mode=stat.S_IMODE(info.st_mode),
            uid=uid,
            gid=gid,
            size=info.st_size,
            mtime_ns=info.st_mtime_ns,
            target=os.readlink(place.name, dir_fd=place.folder) if kind is FileKind.LINK else "",
            identity=_identity(info),
            xattrs=read_xattrs(place) if kind in (FileKind.FILE, FileKind.DIRECTORY) else {},
        )

    @contextmanager
    def _at(self, path: str, what: str, *, follow: bool = False) -> Iterator[Place]:
        """The place of `path`. What the kernel refuses there is translated, and named by `what`."""
        try:
            with Tree(self.root).place(path, follow=follow) as place:
                try:
                    yield place
                except OSError as error:
                    if error.errno in (errno.ENOSPC, errno.EDQUOT):
                        raise _no_space(place, what) from error
                    raise
        except OSError as error:
            raise translate_os_error(error, what) from error


def _no_space(place: Place, what: str) -> HostError:
    free = os.fstatvfs(place.folder)
    mebibytes = free.f_bavail * free.f_frsize >> 20
    where = place.path.rpartition("/")[0] or "/"
    return failure(
        Code.NO_SPACE,
        f"cannot {what}: {where} has {mebibytes} MiB and {free.f_favail} files left",
        hint=f"free space in the file system of {where}",
    )


@contextmanager
def _open_file(place: Place) -> Iterator[int]:
    # Nothing is opened that waits for another process, as a pipe would.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    file = os.open(place.name, flags, dir_fd=place.folder)
    try:
        kind = stat.S_IFMT(os.fstat(file).st_mode)
        if kind == stat.S_IFDIR:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if kind != stat.S_IFREG:
            raise failure(Code.NOT_FILE, f"cannot read {place.path}: it is a device, a socket or a pipe")
        yield file
    finally:
        os.close(file)


def _find_stat(place: Place) -> os.stat_result | None:
    try:
        return os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _find_target(name: str, folder: int) -> str | None:
    """None for what is no link, or is gone by now."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def _refuse_directory(place: Place) -> None:
    """The kernel would refuse it too, after the whole file was written."""
    info = _find_stat(place)
    if info is not None and stat.S_ISDIR(info.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))


def _identity(info: os.stat_result) -> tuple[int, ...]:
    return (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
