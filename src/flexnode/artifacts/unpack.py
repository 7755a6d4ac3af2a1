"""Unpacking archives: only what was asked for, only regular files, only inside the directory, or nothing."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from flexnode.artifacts.failures import Code, failure, no_space, render_size
from flexnode.artifacts.store import CHUNK, free_space, fsync_directory, translate_disk_errors
from flexnode.errors import ArtifactError
from flexnode.model import Member

MAX_UNPACKED = 4 << 30
MAX_MEMBERS = 100_000
_MAX_HOPS = 8
_SPECIAL_BITS = 0o7000


def unpack(
    archive: Path, members: Sequence[Member], into: Path, *, limit: int = MAX_UNPACKED
) -> dict[str, str]:
    """Unpack `members` of a tar or tar.gz into the new directory `into`; return the SHA-256 of each, by path.

    `into` appears complete and durable, or not at all. A single name in the archive that points outside, a
    device, a setuid file, or more than `limit` bytes refuse the archive as a whole: what tries once is not
    trusted. A link inside the archive is unpacked as the file that it points to.
    """
    temporary = into.with_name(f".{into.name}.unpacking")
    with translate_disk_errors(into.parent, into.name, missing=lambda: None):
        shutil.rmtree(temporary, ignore_errors=True)  # of a run that was killed
        temporary.mkdir(parents=True, mode=0o755)
        try:
            with _open_tar(archive, limit) as tar:
                digests = _unpack_members(tar, members, temporary, archive, limit)
            for directory, _, _ in os.walk(temporary, topdown=False):
                fsync_directory(Path(directory))
            temporary.rename(into)  # replaces an empty directory, refuses a full one
            fsync_directory(into.parent)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return digests


def safe_path(name: str) -> PurePosixPath:
    """The relative path that a name in an archive means; artifact/unsafe-archive if it leads outside."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise failure(Code.UNSAFE_ARCHIVE, f"the archive holds a name that leads outside: {name!r}")
    return PurePosixPath(*parts)


class _Bounded:
    """A readable, seekable file that ends the story once more than `limit` bytes were asked of it."""

    def __init__(self, file: IO[bytes], limit: int) -> None:
        self._file = file
        self._limit = limit
        self.seek = file.seek
        self.tell = file.tell

    def read(self, size: int = -1) -> bytes:
        # A header's size is a claim: never let it decide how much memory is taken.
        if size < 0 or size > self._limit or self._file.tell() + size > self._limit:
            raise _too_large(self._limit)
        return self._file.read(size)


@contextmanager
def _open_tar(archive: Path, limit: int) -> Iterator[tarfile.TarFile]:
    try:
        with archive.open("rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            content: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
            # Headers and padding come on top of the files' own bytes.
            bounded = _Bounded(content, limit + (64 << 20))
            with tarfile.open(fileobj=bounded, mode="r:") as tar:  # type: ignore[call-overload]
                yield tar
    except (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile, RecursionError) as error:
        raise failure(Code.BAD_ARCHIVE, f"{archive.name} cannot be read as an archive: {error}") from error


def _unpack_members(
    tar: tarfile.TarFile, members: Sequence[Member], into: Path, archive: Path, limit: int
) -> dict[str, str]:
    contents = _survey(tar, limit)
    digests = {}
    for member in members:
        path = safe_path(member.path)
        info = _resolve(contents, path)
        if info is None:
            raise failure(Code.MEMBER_MISSING, f"{archive.name} does not hold {member.path}")
        digests[member.path] = digest = _write_member(tar, info, into / path)
        if member.sha256 is not None and digest != member.sha256:
            raise failure(
                Code.DIGEST_MISMATCH,
                f"{member.path} in {archive.name} has sha256 {digest}, but it must be {member.sha256}",
            )
    return digests


def _survey(tar: tarfile.TarFile, limit: int) -> dict[PurePosixPath, tarfile.TarInfo]:
    """Every member by its path, after all of them were found harmless."""
    contents: dict[PurePosixPath, tarfile.TarInfo] = {}
    total = 0
    for count, info in enumerate(tar):
        total += info.size
        if count >= MAX_MEMBERS or total > limit:
            raise _too_large(limit)
        path = safe_path(info.name)
        if info.isdev():  # devices and fifos
            raise _unsafe(info, "is a device or a pipe")
        if info.isreg() and info.mode & _SPECIAL_BITS:
            raise _unsafe(info, "has setuid, setgid or sticky bits")
        if info.issparse() or not (info.isreg() or info.isdir() or info.issym() or info.islnk()):
            raise _unsafe(info, "is of a kind that no release file has")
        if info.issym() or info.islnk():
            _link_target(info)
        contents[path] = info
    return contents


def _link_target(info: tarfile.TarInfo) -> PurePosixPath:
    """Where in the archive a link points: a hard one from the top, a symbolic one from where it lies."""
    if info.islnk():
        return safe_path(info.linkname)
    if info.linkname.startswith("/"):
        raise _unsafe(info, f"links outside, to {info.linkname!r}")
    parts = list(safe_path(info.name).parts[:-1])
    for part in info.linkname.split("/"):
        if part == ".." and not parts:
            raise _unsafe(info, f"links outside, to {info.linkname!r}")
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return PurePosixPath(*parts)


def _resolve(contents: dict[PurePosixPath, tarfile.TarInfo], path: PurePosixPath) -> tarfile.TarInfo | None:
    """The regular file that a path in the archive leads to."""
    for _ in range(_MAX_HOPS):
        info = contents.get(path)
        if info is None or info.isdir():
            return None
        if info.isreg() and not info.islnk():
            return info
        path = _link_target(info)
    raise failure(Code.UNSAFE_ARCHIVE, f"the archive's links at {path} lead in circles")


def _write_member(tar: tarfile.TarFile, info: tarfile.TarInfo, target: Path) -> str:
    source = tar.extractfile(info)
    if source is None:
        raise _unsafe(info, "is not a regular file")
    if (missing := info.size - free_space(_existing(target.parent))) > 0:
        raise no_space(_existing(target.parent), missing=missing, what=target.name)
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    digest = hashlib.sha256()
    # Exclusive: a member that is named twice, or through two names of one file, is an error of the caller.
    with target.open("xb") as file:
        while chunk := source.read(CHUNK):
            file.write(chunk)
            digest.update(chunk)
        file.flush()
        os.fchmod(file.fileno(), 0o755 if info.mode & 0o111 else 0o644)
        os.fsync(file.fileno())
    return digest.hexdigest()


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def _unsafe(info: tarfile.TarInfo, reason: str) -> ArtifactError:
    return failure(Code.UNSAFE_ARCHIVE, f"{info.name!r} in the archive {reason}")


def _too_large(limit: int) -> ArtifactError:
    return failure(Code.UNSAFE_ARCHIVE, f"the archive unpacks to more than {render_size(limit)}")
