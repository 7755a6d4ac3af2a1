"""A file system in memory."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flexnode.errors import HostError
from flexnode.host.door import FileInfo, FileKind
from flexnode.host.failures import NOTHING_THERE, Code, failure
from flexnode.host.fake.steps import Steps
from flexnode.host.mounts import is_below, sort_deepest
from flexnode.host.resolve import check_rename, resolve

_START = 1_700_000_000_000_000_000


@dataclass
class Node:
    """What lies at one path."""

    kind: FileKind
    mode: int
    uid: int = 0
    gid: int = 0
    data: bytes = b""
    target: str = ""
    xattrs: dict[str, bytes] = field(default_factory=dict)
    mtime_ns: int = 0
    serial: int = 0

    def state(self, *, times: bool) -> dict[str, Any]:
        """What two machines are compared by; a directory's time says only when its entries changed."""
        same: dict[str, Any] = {"kind": str(self.kind)}
        if self.kind is FileKind.LINK:
            return same | {"target": self.target}
        same |= {"mode": oct(self.mode), "owner": (self.uid, self.gid)}
        if self.kind is FileKind.DIRECTORY:
            return same
        same |= {"data": self.data, "xattrs": dict(self.xattrs)}
        return same | {"mtime_ns": self.mtime_ns} if times else same


class FakeFiles:
    """Behaves as the kernel does: parents must exist, links in a path are followed, mounts are borders.

    `mounts` are mount points; `busy` ones refuse to be unmounted; what lay behind an unmounted one is kept
    whole in `detached`.
    """

    def __init__(self, steps: Steps) -> None:
        self.nodes: dict[str, Node] = {}
        self.mounts: set[str] = set()
        self.busy: set[str] = set()
        self.detached: dict[str, dict[str, Node]] = {}
        self._steps = steps
        self._serial = 0
        self.nodes["/"] = self._stamp(Node(FileKind.DIRECTORY, 0o755))

    def place(self, path: str, data: bytes | str = b"", *, mode: int = 0o644, **rest: Any) -> None:
        """Set the scene: a file with all its parents, uncounted."""
        self.place_directory(posixpath.dirname(path))
        content = data.encode() if isinstance(data, str) else data
        self.nodes[self._resolve(path)] = self._stamp(Node(FileKind.FILE, mode, data=content, **rest))

    def place_directory(self, path: str, *, mode: int = 0o755, uid: int = 0, gid: int = 0) -> None:
        """Set the scene: a directory with all its parents, uncounted."""
        if path in self.nodes and self.nodes[path].kind is FileKind.DIRECTORY:
            return
        self.place_directory(posixpath.dirname(path))
        real = self._follow(path)
        if real not in self.nodes:
            self.nodes[real] = self._stamp(Node(FileKind.DIRECTORY, mode, uid, gid))

    def place_link(self, path: str, target: str) -> None:
        """Set the scene: a symbolic link with all its parents, uncounted."""
        self.place_directory(posixpath.dirname(path))
        self.nodes[self._resolve(path)] = self._stamp(Node(FileKind.LINK, 0o777, target=target))

    def find(self, path: str) -> FileInfo | None:
        try:
            node = self.nodes.get(self._resolve(path))
        except HostError as error:
            if error.code in NOTHING_THERE:
                return None
            raise
        if node is None:
            return None
        size = len(node.target) if node.kind is FileKind.LINK else len(node.data)
        return FileInfo(
            kind=node.kind,
            mode=node.mode,
            uid=node.uid,
            gid=node.gid,
            size=size,
            mtime_ns=node.mtime_ns,
            target=node.target,
            identity=(node.serial,),
            xattrs=dict(node.xattrs),
        )

    def read(self, path: str) -> bytes:
        node = self.nodes.get(self._follow(path))
        if node is None:
            raise failure(Code.MISSING, f"cannot read {path}: no such file or directory")
        if node.kind is FileKind.DIRECTORY:
            raise failure(Code.IS_DIRECTORY, f"cannot read {path}: is a directory")
        return node.data

    def digest(self, path: str) -> str:
        return hashlib.sha256(self.read(path)).hexdigest()

    def list(self, path: str) -> Sequence[str]:
        return sorted(posixpath.basename(child) for child in self._children(self._directory(path, "list")))

    def links(self, path: str) -> Mapping[str, str]:
        children = self._children(self._directory(path, "list"))
        links = ((child, self.nodes[child]) for child in sorted(children))
        return {posixpath.basename(child): node.target for child, node in links if node.kind is FileKind.LINK}

    def mounts_below(self, path: str) -> Sequence[str]:
        if self.find(path) is None:
            return []
        real = self._follow(path)
        return sort_deepest([mount for mount in self.mounts if is_below(mount, real)])

    def write(self, path: str, data: bytes, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        real = self._resolve(path)
        if self._is_directory(real):
            raise failure(Code.IS_DIRECTORY, f"cannot write {path}: is a directory")
        with self._steps.step(f"write {path}"):
            self.nodes[real] = self._stamp(Node(FileKind.FILE, mode, uid, gid, data=data))

    def install(self, path: str, source: Path, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        self.write(path, source.read_bytes(), mode=mode, uid=uid, gid=gid)

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
        node = self.nodes.get(self._resolve(path))
        if node is None:
            raise failure(Code.MISSING, f"cannot change {path}: no such file or directory")
        with self._steps.step(f"change {path}"):
            self._serial += 1
            node.serial = self._serial
            node.mode = node.mode if mode is None else mode
            node.uid = node.uid if uid is None else uid
            node.gid = node.gid if gid is None else gid
            node.xattrs = node.xattrs if xattrs is None else dict(xattrs)
            node.mtime_ns = node.mtime_ns if mtime_ns is None else mtime_ns

    def make_directory(self, path: str, *, mode: int, uid: int = 0, gid: int = 0) -> None:
        real = self._resolve(path)
        there = self.nodes.get(real)
        if there is not None and there.kind is not FileKind.DIRECTORY:
            raise failure(Code.EXISTS, f"cannot make the directory {path}: {there.kind} exists")
        if there is not None:
            self.set_attributes(path, mode=mode, uid=uid, gid=gid)
            return
        with self._steps.step(f"make {path}"):
            self.nodes[real] = self._stamp(Node(FileKind.DIRECTORY, mode, uid, gid))

    def make_link(self, path: str, target: str) -> None:
        real = self._resolve(path)
        if self._is_directory(real):
            raise failure(Code.IS_DIRECTORY, f"cannot link {path}: is a directory")
        with self._steps.step(f"link {path}"):
            self.nodes[real] = self._stamp(Node(FileKind.LINK, 0o777, target=target))

    def rename(self, source: str, target: str) -> None:
        old, new = self._resolve(source), self._resolve(target)
        check_rename(old, new, self._look)
        if old == new:
            return
        if self._is_directory(new) and self._children(new):
            raise failure(Code.NOT_EMPTY, f"cannot rename {source} to {target}: directory not empty")
        with self._steps.step(f"rename {source} to {target}"):
            moved = [path for path in self.nodes if is_below(path, old)]
            for path in moved:
                self.nodes[new + path[len(old) :]] = self.nodes.pop(path)

    def remove(self, path: str) -> None:
        if self.find(path) is None:
            return
        real = self._resolve(path)
        if real in self.mounts:
            raise failure(Code.BUSY, f"cannot remove {path}: something is mounted there")
        if self._is_directory(real) and self._children(real):
            raise failure(Code.NOT_EMPTY, f"cannot remove {path}: directory not empty")
        with self._steps.step(f"remove {path}"):
            del self.nodes[real]

    def remove_tree(self, path: str) -> Sequence[str]:
        if self.find(path) is None:
            return []
        real = self._resolve(path)
        kept = sort_deepest([mount for mount in self.mounts if is_below(mount, real)])
        for entry in sorted(self._below(real), key=lambda p: (-p.count("/"), p)):
            behind = any(is_below(entry, mount) for mount in kept)
            if not behind and not any(is_below(mount, entry) for mount in kept):
                with self._steps.step(f"remove {entry}"):
                    del self.nodes[entry]
        return kept

    def unmount(self, path: str) -> None:
        real = self._follow(path) if self.find(path) is not None else ""
        if real not in self.mounts:
            return
        if real in self.busy or any(m != real and is_below(m, real) for m in self.mounts):
            raise failure(Code.BUSY, f"cannot unmount {path}: target is busy")
        with self._steps.step(f"unmount {path}"):
            self.mounts.discard(real)
            inside = [entry for entry in self.nodes if entry != real and is_below(entry, real)]
            self.detached[real] = {entry: self.nodes.pop(entry) for entry in inside}

    def snapshot(self, *, times: bool) -> dict[str, Any]:
        return {path: self.nodes[path].state(times=times) for path in sorted(self.nodes)}

    def _stamp(self, node: Node) -> Node:
        self._serial += 1
        node.serial = self._serial
        node.mtime_ns = node.mtime_ns or _START + self._serial * 1_000_000
        return node

    def _resolve(self, path: str) -> str:
        """Where `path` really is: links in all of it but its last part followed."""
        return resolve(path, self._look, follow=False)

    def _follow(self, path: str) -> str:
        return resolve(path, self._look, follow=True)

    def _look(self, real: str) -> tuple[FileKind, str] | None:
        node = self.nodes.get(real)
        return None if node is None else (node.kind, node.target)

    def _directory(self, path: str, verb: str) -> str:
        real = self._follow(path)
        node = self.nodes.get(real)
        if node is None:
            raise failure(Code.MISSING, f"cannot {verb} {path}: no such file or directory")
        if node.kind is not FileKind.DIRECTORY:
            raise failure(Code.NOT_DIRECTORY, f"cannot {verb} {path}: not a directory")
        return real

    def _is_directory(self, real: str) -> bool:
        node = self.nodes.get(real)
        return node is not None and node.kind is FileKind.DIRECTORY

    def _below(self, real: str) -> Iterator[str]:
        return (entry for entry in self.nodes if is_below(entry, real))

    def _children(self, real: str) -> Sequence[str]:
        return [entry for entry in self._below(real) if entry != real and posixpath.dirname(entry) == real]
