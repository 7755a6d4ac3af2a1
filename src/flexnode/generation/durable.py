"""Files of the product's own: written whole or not at all, and known to be whole when they are read again.

A file is one JSON object: the schema's number, the payload, and a SHA-256 over both. They lie in one file,
since two that are written one after the other can disagree. That frame stays the same in every later schema,
so that damage is always told from a newer version of the product.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from flexnode.artifacts import render_size
from flexnode.artifacts.store import fsync_directory
from flexnode.errors import StateError

SCHEMA = 1
T = TypeVar("T")


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    schema: int
    sha256: str
    payload: msgspec.Raw


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded(Generic[T]):
    """What a file said: None if it is not there, or is damaged, and then `warning` tells."""

    value: T | None = None
    warning: str = ""


class Damaged(Exception):
    """The bytes are not what was once written. Never leaves this package: damage is a warning there."""


def seal(payload: object, *, schema: int = SCHEMA) -> bytes:
    """The payload with what it takes to know later that it is whole."""
    raw = msgspec.json.encode(payload, order="deterministic")
    envelope = _Envelope(schema=schema, sha256=checksum(schema, raw), payload=msgspec.Raw(raw))
    return msgspec.json.encode(envelope)


def unseal(data: bytes, kind: type[T], *, what: str) -> T:
    """The payload again. Damaged if a byte is missing or wrong; state/newer-version if a later product
    wrote it.
    """
    try:
        envelope = msgspec.json.decode(data, type=_Envelope)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Damaged(f"{what} is damaged: {error}") from error
    raw = bytes(envelope.payload)
    if envelope.sha256 != checksum(envelope.schema, raw):
        raise Damaged(f"{what} is damaged: its checksum does not match")
    require_known_schema(envelope.schema, what)
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Damaged(f"{what} is damaged: {error}") from error


def require_known_schema(schema: int, what: str) -> None:
    """Refuse what this version cannot understand, before it does harm to it."""
    if schema > SCHEMA:
        raise StateError(
            f"{what} was written by a newer aks-flex-node: schema {schema}, and this one knows {SCHEMA}",
            code="state/newer-version",
            hint="install that version again; nothing was touched",
        )


def save(path: Path, payload: object, *, keep_previous: bool = False) -> None:
    """Write the payload at `path`, durably. `keep_previous`: what lay there stays beside it, if sound."""
    if keep_previous:
        _keep_previous(path)
    write(path, seal(payload))


def load(path: Path, kind: type[T], *, previous: bool = False) -> Loaded[T]:
    """What `path` holds; where it is damaged or gone and `previous` is set, what it held before."""
    warnings = []
    for candidate in (path, previous_of(path)) if previous else (path,):
        data = read(candidate)
        if data is None:
            continue
        try:
            value = unseal(data, kind, what=str(candidate))
        except Damaged as damage:
            warnings.append(str(damage))
            continue
        if candidate != path:
            warnings.append(f"{candidate} is used in its place" if warnings else f"{path} is missing")
        return Loaded(value=value, warning="; ".join(warnings))
    return Loaded(warning="; ".join(warnings))


def read(path: Path) -> bytes | None:
    """The bytes; None where there is no file, or something that is none."""
    with translate_errors(path):
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None


def write(path: Path, data: bytes) -> None:
    """Put a file there that only root may read: whole and durable, or the old one stays as it was."""
    temporary = path.with_name(f".{path.name}.new")
    with translate_errors(path, size=len(data)):
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(temporary, flags, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(path)
            fsync_directory(path.parent)
        except OSError:
            # What is full stays as full as it was.
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise


def remove(path: Path) -> None:
    """Remove a file durably; nothing there is fine."""
    with translate_errors(path):
        path.unlink(missing_ok=True)
        if path.parent.is_dir():
            fsync_directory(path.parent)


@contextmanager
def translate_errors(path: Path, *, size: int = 0) -> Iterator[None]:
    """Turn what the disk says into a failure that tells what to do. `size`: bytes that were to be written."""
    try:
        yield
    except OSError as error:
        raise state_error(path, error, size=size) from error


def state_error(path: Path, error: OSError, *, size: int = 0) -> StateError:
    """The failure that an error of the disk at `path` is."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StateError(
            f"no space to write {path}{_find_missing(path, size)}",
            code="state/no-space",
            transient=True,
            hint=f"free some space on the file system of {path.parent}; what was recorded before is intact",
        )
    if error.errno == errno.EROFS:
        return StateError(
            f"{path} lies on a file system that is read-only",
            code="state/read-only",
            hint="find out why (dmesg), mount it read-write, then run again",
        )
    return StateError(
        f"{path}: {error.strerror or error}",
        code="state/unwritable",
        hint=f"check {path.parent}, its permissions and the disk it lies on",
    )


def _find_missing(path: Path, size: int) -> str:
    """How much more space `size` bytes take, in words; nothing where the file system has other limits."""
    try:
        found = os.statvfs(path.parent)
    except OSError:
        return ""
    missing = size - found.f_bavail * found.f_frsize
    return f": it needs {render_size(missing)} more" if missing > 0 else ""


def previous_of(path: Path) -> Path:
    """Where the copy lies that stands in for a damaged file."""
    return path.with_name(f"{path.name}.previous")


def _keep_previous(path: Path) -> None:
    data = read(path)
    try:
        if data is not None:
            unseal(data, object, what=str(path))
            write(previous_of(path), data)
    except Damaged:
        pass  # it would push out a sound copy


def checksum(schema: int, raw: bytes) -> str:
    """Covers the schema's number too: a bit that flips in it must not look like a newer version."""
    return hashlib.sha256(b"%d\n" % schema + raw).hexdigest()
