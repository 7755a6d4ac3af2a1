"""What the machine had before, kept by digest: the bytes behind the ledger's entries."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from flexnode.artifacts.store import CHUNK, digest_of, fsync_directory
from flexnode.generation.directory import make_private
from flexnode.generation.durable import remove, translate_errors, write
from flexnode.resources.state import Blob


class Blobs:
    """Files `<root>/<sha256>`, readable by root only: whatever was in the user's file is in here."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def keep(self, data: bytes | Path) -> Blob:
        """Store bytes, or a copy of a file, durably. The same bytes twice are stored once."""
        if isinstance(data, Path):
            return self._keep_file(data)
        sha256 = hashlib.sha256(data).hexdigest()
        if self.find(sha256) is None:
            make_private(self._root)
            write(self.path(sha256), data)
        return Blob(sha256=sha256)

    def path(self, sha256: str) -> Path:
        """Where a blob lies, or would lie."""
        return self._root / sha256

    def find(self, sha256: str) -> Path | None:
        """The file, hashed just now; None if it is not there, or is not what its name says."""
        path = self.path(sha256)
        with translate_errors(path):
            try:
                return path if digest_of(path) == sha256 else None
            except FileNotFoundError:
                return None

    def digests(self) -> tuple[str, ...]:
        """The names, sorted; not hashed."""
        if not self._root.is_dir():
            return ()
        return tuple(sorted(path.name for path in self._root.iterdir() if not path.name.startswith(".")))

    def collect(self, keep: Iterable[str]) -> None:
        """Remove every blob not in `keep`, and what a killed writer left."""
        kept = set(keep)
        if not self._root.is_dir():
            return
        for path in sorted(self._root.iterdir()):
            if path.name not in kept:
                remove(path)

    def _keep_file(self, source: Path) -> Blob:
        """Copy a file piece by piece: a binary of a hundred megabytes need not fit into memory."""
        make_private(self._root)
        temporary = self._root / ".incoming"
        digest = hashlib.sha256()
        with translate_errors(temporary), source.open("rb") as original:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                with open(os.open(temporary, flags, 0o600), "wb") as copy:
                    while chunk := original.read(CHUNK):
                        digest.update(chunk)
                        copy.write(chunk)
                    copy.flush()
                    os.fsync(copy.fileno())
                temporary.rename(self._root / digest.hexdigest())
                fsync_directory(self._root)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
        return Blob(sha256=digest.hexdigest())
