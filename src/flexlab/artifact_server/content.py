"""Which file a path names, and which part of it a request asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

CHUNK = 256 * 1024

_BY_DIGEST = re.compile(r"/sha256/([0-9a-f]{64})")
_REGISTRY_BLOB = re.compile(r"/v2/[a-z0-9]+(?:[._/-][a-z0-9]+)*/blobs/sha256:([0-9a-f]{64})")
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """The bytes of a file from `start` up to, not including, `end`."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


def find_digest(path: str) -> str | None:
    """The digest that `path` asks for: `/sha256/HEX`, or a blob as a container registry names it."""
    match = _BY_DIGEST.fullmatch(path) or _REGISTRY_BLOB.fullmatch(path)
    return match[1] if match else None


def find_blob(store: Path, digest: str) -> Path | None:
    path = store / "sha256" / digest
    return path if path.is_file() else None


def list_blobs(store: Path) -> list[tuple[str, int]]:
    """Digest and size of every file in the store, by digest."""
    try:
        return sorted(
            (path.name, path.stat().st_size)
            for path in (store / "sha256").iterdir()
            if find_digest(f"/sha256/{path.name}") and path.is_file()
        )
    except FileNotFoundError:
        return []


def parse_range(header: str | None, size: int) -> Span | None:
    """The bytes that a Range header asks for.

    The whole file where the header is missing or of a form that HTTP lets a server ignore; None where it asks
    for bytes that do not exist.
    """
    whole = Span(start=0, end=size)
    match = _RANGE.fullmatch((header or "").replace(" ", ""))
    if match is None or match[0] == "bytes=-":
        return whole
    first, last = match.groups()
    if not first:
        return Span(start=max(0, size - int(last)), end=size) if int(last) and size else None
    start, end = int(first), min(size, int(last) + 1) if last else size
    if last and int(last) < start:
        return whole
    return Span(start=start, end=end) if start < size else None


def read_chunks(file: BinaryIO, span: Span, chunk: int = CHUNK) -> Iterator[tuple[int, bytes]]:
    """The bytes of `span` piece by piece, each with its place in the file."""
    file.seek(span.start)
    position = span.start
    while position < span.end:
        data = file.read(min(chunk, span.end - position))
        if not data:
            return
        yield position, data
        position += len(data)


def flip_bit(data: bytes, position: int, offset: int) -> bytes:
    """`data`, which begins at `position` of its file, with one bit wrong at `offset` of the file."""
    if not position <= offset < position + len(data):
        return data
    spoiled = bytearray(data)
    spoiled[offset - position] ^= 1
    return bytes(spoiled)
