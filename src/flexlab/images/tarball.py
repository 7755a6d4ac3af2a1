"""Tar files whose bytes depend on their content only: no times, no owners, no order of a file system."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

COMPRESSION = 6


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One entry of a tar: a file (of `data`, or of what lies at `source`), a symbolic link, or a folder."""

    name: str
    mode: int = 0o755
    data: bytes | None = None
    source: Path | None = None
    link: str = ""


def write_tar(stream: BinaryIO, items: Iterable[Item]) -> None:
    """Write `items`, sorted by name, as an uncompressed tar."""
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for item in sorted(items, key=lambda item: item.name):
            _add(tar, item)


def write_tar_gz(stream: BinaryIO, items: Iterable[Item]) -> None:
    """The same, compressed."""
    with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=COMPRESSION) as packed:
        write_tar(packed, items)  # type: ignore[arg-type]  # a GzipFile writes like any binary file


def _add(tar: tarfile.TarFile, item: Item) -> None:
    info = tarfile.TarInfo(item.name)
    info.mode = item.mode
    if item.link:
        info.type, info.linkname = tarfile.SYMTYPE, item.link
        info.mode = 0o777
        tar.addfile(info)
    elif item.source is not None:
        info.size = item.source.stat().st_size
        with item.source.open("rb") as content:
            tar.addfile(info, content)
    elif item.data is not None:
        info.size = len(item.data)
        tar.addfile(info, io.BytesIO(item.data))
    else:
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
