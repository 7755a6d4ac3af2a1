"""Files out of archives: unpacked once, kept by digest, hashed again before use.

`<root>/sha256/` holds the files as the artifact store does; `<root>/index/` has the digests of the members,
by archive. A member that rotted is unpacked again from its archive.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from flexnode import model
from flexnode.artifacts import Store, unpack
from flexnode.artifacts.store import fsync_directory
from flexnode.digests import Digests
from flexnode.generation.directory import make_private, remove_folder
from flexnode.generation.durable import load, remove, save, translate_errors
from flexnode.resources.state import Member

_SIZE_BYTES = 4


class Index(msgspec.Struct, frozen=True, kw_only=True):
    """The digests of an archive's members, by path, as far as somebody asked for them."""

    members: dict[str, str]


class Members:
    """The cache beside a store. Several processes may stage at once: each waits for the others."""

    def __init__(self, root: Path, archives: Store, *, digests: Digests | None = None) -> None:
        self._root = root
        self._archives = archives
        self._files = Store(root, digests=digests)

    def find_digest(self, member: Member) -> str | None:
        """The member's digest, if the catalog or an earlier unpacking tells it. Hashes nothing."""
        return member.sha256 or self._index(member.artifact).get(member.path)

    def path(self, sha256: str) -> Path:
        """Where an unpacked file of this digest lies, or would lie."""
        return self._files.path(sha256)

    def find(self, member: Member) -> Path | None:
        """The unpacked file, hashed just now; None if nobody unpacked it yet, or it rotted."""
        digest = self.find_digest(member)
        return self._files.find(digest) if digest else None

    def require(self, member: Member) -> Path:
        """The unpacked file, hashed just now."""
        path = self.find(member)
        if path is None:
            self.unpack(member.artifact, [member])
            path = self.find(member)
        return path or self._files.require(member.sha256 or "0" * 64, name=member.path)

    def missing(self, members: Iterable[Member]) -> dict[str, list[Member]]:
        """Those that have to be unpacked first, by archive, as far as that is known."""
        missing: dict[str, list[Member]] = {}
        for member in dict.fromkeys(members):
            digest = self.find_digest(member)
            if not digest or not self._files.holds(digest):
                missing.setdefault(member.artifact, []).append(member)
        return missing

    def size_unpacked(self, archive: str) -> int:
        """How many bytes unpacking this archive takes, at most."""
        path = self._archives.path(archive)
        with translate_errors(path), path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
            size = file.seek(0, os.SEEK_END)
            if not packed or size < _SIZE_BYTES:
                return size
            # A gzip file ends with the length of what is in it.
            file.seek(-_SIZE_BYTES, os.SEEK_END)
            return int.from_bytes(file.read(_SIZE_BYTES), "little")

    def unpack(self, archive: str, members: Sequence[Member]) -> None:
        """Unpack these members of one archive, all in one pass over it."""
        source = self._archives.require(archive)
        wanted = {each.path: model.Member(path=each.path, sha256=each.sha256) for each in members}
        with self._locked():
            folder = self._root / "unpacked"
            remove_folder(folder)  # of a process that was killed
            digests = unpack(source, tuple(wanted.values()), folder)
            with translate_errors(self._root):
                for path, sha256 in digests.items():
                    self._take(folder / path, self._files.path(sha256))
                fsync_directory(self._root / "sha256")
            save(self._index_path(archive), Index(members={**self._index(archive), **digests}))
            remove_folder(folder)

    def collect(self, keep: Iterable[Member]) -> None:
        """Remove what none of these members needs."""
        if not self._root.is_dir():
            return
        with self._locked():
            kept = tuple(keep)
            archives = {member.artifact for member in kept}
            digests = [self.find_digest(member) for member in kept]
            self._files.collect(digest for digest in digests if digest is not None)
            for path in sorted((self._root / "index").glob("[!.]*.json")):
                if path.stem not in archives:
                    remove(path)
            remove_folder(self._root / "unpacked")

    def _take(self, file: Path, into: Path) -> None:
        into.parent.mkdir(mode=0o700, exist_ok=True)
        file.chmod(0o444)
        file.replace(into)

    def _index(self, archive: str) -> dict[str, str]:
        # What cannot be read is found out again by unpacking once more.
        loaded = load(self._index_path(archive), Index)
        return loaded.value.members if loaded.value is not None else {}

    def _index_path(self, archive: str) -> Path:
        return self._root / "index" / f"{archive}.json"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        make_private(self._root / "index")
        with translate_errors(self._root), (self._root / ".lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # for as long as the file is open
            yield
