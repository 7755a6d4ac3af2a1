"""The content-addressed store: `<root>/sha256/<hex>`, every file read-only and just what its name says.

A file gets its name only after its digest matched; it is hashed again whenever it is about to be used. Who
only asks whether it is there is answered by what is remembered of it. Beside the finished files lie partials,
`.<hex>.partial`: each is locked by the one process that fills it, so two processes that want the same file
share one download. The layout is also the one that a mirror serves.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from flexnode.artifacts.failures import Code, local_failure, no_space
from flexnode.digests import Digests
from flexnode.errors import ArtifactError

CHUNK = 1 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PARTIAL = ".partial"


def free_space(path: Path) -> int:
    """The bytes that an unprivileged writer may still put on the file system of `path`."""
    stat = os.statvfs(path)
    return stat.f_bavail * stat.f_frsize


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fsync_directory(path: Path) -> None:
    """A rename is durable only once its directory is: a power cut can undo it before."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def hold_directory(path: Path, what: str, *, wait: bool) -> Iterator[None]:
    """Hold `path`, made if it is missing, for this process alone; artifact/busy if another has it.

    `wait`: until the other is done. The kernel holds the lock, so a killed process leaves none behind.
    """
    with translate_disk_errors(path, what, missing=lambda: None):
        handle = _open_held(path, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    if handle is None:
        raise local_failure(Code.BUSY, f"another process is making {what}")
    try:
        yield
    finally:
        os.close(handle)


def _open_held(path: Path, operation: int) -> int | None:
    while True:
        path.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:  # its holder has just finished, and removed it
            continue
        try:
            fcntl.flock(handle, operation)
            if os.path.samestat(os.stat(path), os.fstat(handle)):
                return handle
        except BlockingIOError:
            os.close(handle)
            return None
        except FileNotFoundError:
            pass
        os.close(handle)


@contextmanager
def translate_disk_errors(where: Path, what: str, *, missing: Callable[[], int | None]) -> Iterator[None]:
    """Turn what the local disk says into failures: full, read-only, not ours."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise no_space(where, missing=missing(), what=what) from error
        raise local_failure(Code.STORE_UNWRITABLE, f"{where}: {error.strerror or error}") from error


class Partial:
    """A file on its way into the store. Knows its digest so far; only `commit` gives it its name."""

    def __init__(self, file: FileIO, path: Path, final: Path, free: Callable[[Path], int]) -> None:
        self._file = file
        self._path = path
        self._final = final
        self._free = free
        self._hash = hashlib.sha256()
        self.size = 0
        self.expected: int | None = None
        while chunk := file.read(CHUNK):
            self._hash.update(chunk)
            self.size += len(chunk)

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def expect(self, total: int) -> None:
        """Refuse before the first byte if `total` bytes cannot fit."""
        self.expected = total
        missing = total - self.size - self._free(self._path.parent)
        if missing > 0:
            raise no_space(self._path.parent, missing=missing, what=self._final.name)

    def write(self, chunk: bytes) -> None:
        rest = memoryview(chunk)
        with self._disk():
            while rest:  # a disk that is nearly full takes a part of what it is given
                count = self._file.write(rest)
                self._hash.update(rest[:count])
                self.size += count
                rest = rest[count:]

    def restart(self) -> None:
        """Forget everything that arrived."""
        with self._disk():
            self._file.seek(0)
            self._file.truncate()
        self._hash = hashlib.sha256()
        self.size = 0

    def commit(self) -> Path:
        """Give the file its name. The caller compared the digest; this compares it once more, for free."""
        if self.digest != self._final.name:
            raise AssertionError(f"{self.digest} was about to enter the store as {self._final.name}")
        with self._disk():
            self._file.flush()
            os.fchmod(self._file.fileno(), 0o444)
            os.fsync(self._file.fileno())
            self._path.rename(self._final)
            fsync_directory(self._final.parent)
        return self._final

    def discard(self) -> None:
        self._path.unlink(missing_ok=True)

    def _missing(self) -> int | None:
        if self.expected is None:
            return None
        return self.expected - self.size - self._free(self._path.parent)

    @contextmanager
    def _disk(self) -> Iterator[None]:
        with translate_disk_errors(self._path.parent, self._final.name, missing=self._missing):
            yield


class Store:
    """Files by digest, under `root`.

    `digests`: what is known of them already, which only `holds` trusts. `free` is the seam through which
    tests make a disk small.
    """

    def __init__(
        self, root: Path, *, digests: Digests | None = None, free: Callable[[Path], int] = free_space
    ) -> None:
        self.root = root
        self._digests = digests or Digests()
        self._files = root / "sha256"
        self._free = free

    def path(self, sha256: str) -> Path:
        """Where a file lies, or would lie. Says nothing about whether it does."""
        if not _DIGEST.fullmatch(sha256):
            raise ValueError(f"{sha256!r} is not a SHA-256 digest of 64 lower-case hex digits")
        return self._files / sha256

    def holds(self, sha256: str) -> bool:
        """Whether the file is there and whole, as far as that is known: one that did not change since it was
        hashed is not read again. Changes nothing.
        """
        try:
            return self._digests.of_file(self.path(sha256)) == sha256
        except OSError:  # none, or one that may not be looked at, or a dying disk: who uses it will tell
            return False

    def find(self, sha256: str) -> Path | None:
        """The file, hashed just now; None if it is not there. A damaged one is removed: nobody may use it."""
        path = self.path(sha256)
        try:
            if not path.is_symlink() and self._digests.read(path) == sha256:
                return path
        except FileNotFoundError:
            return None
        except OSError as error:
            # EIO from a dying disk, or a directory in the file's place: neither is the file.
            raise local_failure(Code.STORE_UNWRITABLE, f"{path}: {error.strerror or error}") from error
        self.remove(sha256)
        return None

    def require(self, sha256: str, *, name: str = "") -> Path:
        """The file, hashed just now; without it, an error that says so. `name` is what people call it."""
        if path := self.find(sha256):
            return path
        what = f"{name} (sha256 {sha256})" if name else f"sha256 {sha256}"
        raise local_failure(
            Code.NOT_STAGED, f"{what} is not in {self.root}, or was damaged there and removed"
        )

    def require_space(self, count: int, *, what: str) -> None:
        """Refuse now if `count` more bytes cannot fit."""
        self._prepare()
        missing = count - self._free(self._files)
        if missing > 0:
            raise no_space(self._files, missing=missing, what=what)

    def digests(self) -> tuple[str, ...]:
        """The names in the store, sorted; not hashed."""
        try:
            names = os.listdir(self._files)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise local_failure(Code.UNREADABLE, f"{self._files}: {error.strerror or error}") from error
        return tuple(sorted(name for name in names if _DIGEST.fullmatch(name)))

    def add(self, file: Path, sha256: str) -> Path:
        """Take a copy of a local file that must have this digest."""
        with self.partial(sha256) as partial:
            if path := self.find(sha256):
                partial.discard()
                return path
            try:
                partial.restart()
                with file.open("rb") as stream:
                    partial.expect(os.fstat(stream.fileno()).st_size)
                    while chunk := stream.read(CHUNK):
                        partial.write(chunk)
                if partial.digest != sha256:
                    raise local_failure(
                        Code.DIGEST_MISMATCH, f"{file} has sha256 {partial.digest}, not {sha256} as it should"
                    )
                return partial.commit()
            except OSError as error:
                partial.discard()
                raise local_failure(Code.UNREADABLE, f"{file}: {error.strerror or error}") from error
            except ArtifactError:
                partial.discard()
                raise

    @contextmanager
    def partial(self, sha256: str) -> Iterator[Partial]:
        """The partial of a digest, locked for as long as the context lasts; waits while another fills it.

        Ask `find` again inside: the other may have finished. The caller commits, discards or leaves it.
        """
        final = self.path(sha256)
        path = self._files / f".{sha256}{_PARTIAL}"
        self._prepare()
        with translate_disk_errors(self._files, sha256, missing=lambda: None):
            file = self._open_locked(path)
        with file:
            yield Partial(file, path, final, self._free)

    def remove(self, sha256: str) -> None:
        with translate_disk_errors(self._files, sha256, missing=lambda: None):
            self.path(sha256).unlink(missing_ok=True)

    def collect(self, keep: Iterable[str]) -> tuple[str, ...]:
        """Remove every file not in `keep`, and every partial that nobody is filling; return the digests."""
        wanted = set(keep)
        removed = tuple(digest for digest in self.digests() if digest not in wanted)
        for digest in removed:
            self.remove(digest)
        for path in self._partials():
            try:
                with path.open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink(missing_ok=True)
            except (BlockingIOError, FileNotFoundError):  # somebody fills it, or has just finished it
                continue
        return removed

    def _partials(self) -> list[Path]:
        return sorted(self._files.glob(f".*{_PARTIAL}")) if self._files.is_dir() else []

    def _prepare(self) -> None:
        with translate_disk_errors(self.root, "the store", missing=lambda: None):
            self._files.mkdir(parents=True, exist_ok=True)

    def _open_locked(self, path: Path) -> FileIO:
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            file = FileIO(handle, "r+b")
            fcntl.flock(file, fcntl.LOCK_EX)
            # Whoever held the lock before may have renamed or removed the file that we opened.
            try:
                if os.stat(path).st_ino == os.fstat(handle).st_ino:
                    return file
            except FileNotFoundError:
                pass
            file.close()
