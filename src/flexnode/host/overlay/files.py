"""Changes to a file system that only this process sees."""

from __future__ import annotations

import hashlib
import itertools
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from flexnode.errors import HostError
from flexnode.host.door import FileInfo, FileKind, Files
from flexnode.host.failures import NOTHING_THERE, Code, failure
from flexnode.host.mounts import is_below
from flexnode.host.resolve import check_rename, resolve

_SERIALS = itertools.count(1)
"""For all overlays: one may lie upon another, and their files are told apart by it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """What was put at a path. Content is bytes, a file outside of the host, or a path of the host below."""

    info: FileInfo
    content: bytes | Path | str = b""


@dataclass
class OverlayFiles:
    """`changed` tells when a path was last touched: the number grows with each change."""

    below: Files
    changed: dict[str, int] = field(default_factory=dict)
    _entries: dict[str, Entry] = field(default_factory=dict)
    _hidden: set[str] = field(default_factory=set)  # the host below is not seen at these paths, nor beneath
    _unmounted: set[str] = field(default_factory=set)

    def find(self, path: str) -> FileInfo | None:
        try:
            return self._look(self._resolve(path))
        except HostError as error:
            if error.code in NOTHING_THERE:
                return None
            raise

    def read(self, path: str) -> bytes:
        real = self._follow(path)
        info = self._require(real, path, "read")
        if info.kind is FileKind.DIRECTORY:
            raise failure(Code.IS_DIRECTORY, f"cannot read {path}: is a directory")
        entry = self._entries.get(real)
        if entry is None:
            return self.below.read(real)
        if isinstance(entry.content, Path):
            return entry.content.read_bytes()
        return entry.content if isinstance(entry.content, bytes) else self.below.read(entry.content)

    def digest(self, path: str) -> str:
        real = self._follow(path)
        entry = self._entries.get(real)
        if entry is None and self._look(real) is not None:
            return self.below.digest(real)
        if entry is not None and isinstance(entry.content, str):
            return self.below.digest(entry.content)
        if entry is not None and isinstance(entry.content, Path):
            with entry.content.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        return hashlib.sha256(self.read(real)).hexdigest()

    def list(self, path: str) -> Sequence[str]:
        real = self._follow(path)
        if self._require(real, path, "list").kind is not FileKind.DIRECTORY:
            raise failure(Code.NOT_DIRECTORY, f"cannot list {path}: not a directory")
        names = {
            posixpath.basename(each) for each in self._entries if posixpath.dirname(each) == real != each
        }
        if not self._is_hidden(real) and self.below.find(real) is not None:
            below = (
                name for name in self.below.list(real) if not self._is_hidden(posixpath.join(real, name))
            )
            names.update(below)
        return sorted(names)

    def links(self, path: str) -> Mapping[str, str]:
        found = ((name, self.find(posixpath.join(path, name))) for name in self.list(path))
        return {name: info.target for name, info in found if info is not None and info.kind is FileKind.LINK}

    def mounts_below(self, path: str) -> Sequence[str]:
        if self.find(path) is None:
            return []
        real = self._follow(path)
        return [mount for mount in self.below.mounts_below(real) if mount not in self._unmounted]

    def write(self, path: str, data: bytes, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        info = FileInfo(kind=FileKind.FILE, mode=mode, uid=uid, gid=gid, size=len(data))
        self._put_file(path, "write", Entry(info=info, content=data))

    def install(self, path: str, source: Path, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        info = FileInfo(kind=FileKind.FILE, mode=mode, uid=uid, gid=gid, size=source.stat().st_size)
        self._put_file(path, "write", Entry(info=info, content=source))

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
        real = self._resolve(path)
        info = self._require(real, path, "change")
        changed = replace(
            info,
            mode=info.mode if mode is None else mode,
            uid=info.uid if uid is None else uid,
            gid=info.gid if gid is None else gid,
            xattrs=info.xattrs if xattrs is None else dict(xattrs),
            mtime_ns=info.mtime_ns if mtime_ns is None else mtime_ns,
        )
        entry = self._entries.get(real)
        self._put(real, Entry(info=changed, content=real if entry is None else entry.content))

    def make_directory(self, path: str, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        real = self._resolve(path)
        there = self._look(real)
        if there is not None and there.kind is not FileKind.DIRECTORY:
            raise failure(Code.EXISTS, f"cannot make the directory {path}: {there.kind} exists")
        info = there or FileInfo(kind=FileKind.DIRECTORY, mode=mode, uid=uid, gid=gid)
        self._put(real, Entry(info=replace(info, mode=mode, uid=uid, gid=gid)))

    def make_link(self, path: str, target: str) -> None:
        info = FileInfo(kind=FileKind.LINK, mode=0o777, uid=0, gid=0, size=len(target), target=target)
        self._put_file(path, "link", Entry(info=info))

    def rename(self, source: str, target: str) -> None:
        old, new = self._resolve(source), self._resolve(target)
        check_rename(old, new, self._see)
        if old == new:
            return
        there = self._look(new)
        if there is not None and there.kind is FileKind.DIRECTORY and self.list(new):
            raise failure(Code.NOT_EMPTY, f"cannot rename {source} to {target}: directory not empty")
        moved = {new + path[len(old) :]: self._as_entry(path) for path in self._walk(old)}
        self._drop(new)
        self._drop(old)
        for path, entry in moved.items():
            self._put(path, entry)

    def remove(self, path: str) -> None:
        info = self.find(path)
        if info is None:
            return
        real = self._resolve(path)
        if info.kind is not FileKind.LINK and real in self.mounts_below(real):
            raise failure(Code.BUSY, f"cannot remove {path}: something is mounted there")
        if info.kind is FileKind.DIRECTORY and self.list(real):
            raise failure(Code.NOT_EMPTY, f"cannot remove {path}: directory not empty")
        self._drop(real)

    def remove_tree(self, path: str) -> Sequence[str]:
        info = self.find(path)
        if info is None:
            return []
        real = self._resolve(path)
        kept = self.mounts_below(real) if info.kind is FileKind.DIRECTORY else []
        for entry in reversed(self._walk(real)) if kept else (real,):
            if not any(is_below(entry, mount) or is_below(mount, entry) for mount in kept):
                self._drop(entry)
        return kept

    def unmount(self, path: str) -> None:
        real = self._follow(path) if self.find(path) is not None else ""
        if real and real in self.mounts_below(real):
            self._unmounted.add(real)
            # What lies beneath a mount point, nobody sees before it is unmounted.
            self._drop(real)
            self._put(real, Entry(info=FileInfo(kind=FileKind.DIRECTORY, mode=0o755, uid=0, gid=0)))

    def _put_file(self, path: str, verb: str, entry: Entry) -> None:
        real = self._resolve(path)
        there = self._look(real)
        if there is not None and there.kind is FileKind.DIRECTORY:
            raise failure(Code.IS_DIRECTORY, f"cannot {verb} {path}: is a directory")
        self._put(real, entry)

    def _put(self, real: str, entry: Entry) -> None:
        serial = next(_SERIALS)
        self.changed[real] = serial
        self._entries[real] = replace(entry, info=replace(entry.info, identity=(-1, serial)))

    def _drop(self, real: str) -> None:
        for path in [path for path in self._entries if is_below(path, real)]:
            del self._entries[path]
        self.changed[real] = next(_SERIALS)
        self._hidden.add(real)

    def _look(self, real: str) -> FileInfo | None:
        entry = self._entries.get(real)
        if entry is not None:
            return entry.info
        return None if self._is_hidden(real) else self.below.find(real)

    def _is_hidden(self, real: str) -> bool:
        return any(is_below(real, hidden) for hidden in self._hidden)

    def _resolve(self, path: str) -> str:
        return resolve(path, self._see, follow=False)

    def _follow(self, path: str) -> str:
        return resolve(path, self._see, follow=True)

    def _see(self, real: str) -> tuple[FileKind, str] | None:
        info = self._look(real)
        return None if info is None else (info.kind, info.target)

    def _as_entry(self, real: str) -> Entry:
        return self._entries.get(real) or Entry(info=self._require(real, real, "move"), content=real)

    def _walk(self, real: str) -> Sequence[str]:
        """All at and below a path, parents first."""
        info = self._look(real)
        if info is None:
            return []
        inside = self.list(real) if info.kind is FileKind.DIRECTORY else ()
        return [real, *(path for name in inside for path in self._walk(posixpath.join(real, name)))]

    def _require(self, real: str, path: str, verb: str) -> FileInfo:
        info = self._look(real)
        if info is None:
            raise failure(Code.MISSING, f"cannot {verb} {path}: no such file or directory")
        return info
