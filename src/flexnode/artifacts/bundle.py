"""One offline bundle: an uncompressed tar of `manifest.json` and `sha256/<hex>` files.

The same content gives the same bytes, so a bundle can be named by its own digest. Uncompressed, so that a
file in it is read where it lies: nothing is unpacked to use it.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flexnode.artifacts.failures import Code, failure, no_space
from flexnode.artifacts.manifest import (
    MANIFEST,
    FileEntry,
    Manifest,
    PackageEntry,
    parse_manifest,
    render_manifest,
)
from flexnode.artifacts.store import CHUNK, Store, free_space, fsync_directory, translate_disk_errors

_PREFIX = "sha256/"


@dataclass(frozen=True, kw_only=True, slots=True)
class Extent:
    """Where a file lies in the bundle, in bytes."""

    offset: int
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class BundleIndex:
    """What a bundle says about itself, and where its files lie."""

    manifest: Manifest
    files: dict[str, Extent]


def write_bundle(path: Path, manifest: Manifest, store: Store) -> None:
    """Write the bundle of everything that `manifest` lists, from `store`; whole or not at all."""
    temporary = path.with_name(f".{path.name}.partial")
    content = render_manifest(manifest)
    names = {entry.sha256: entry for entry in manifest.entries()}
    needed = sum(entry.size + 1024 for entry in names.values()) + len(content) + tarfile.RECORDSIZE
    with translate_disk_errors(path.parent, path.name, missing=lambda: needed - free_space(path.parent)):
        path.parent.mkdir(parents=True, exist_ok=True)
        if (missing := needed - free_space(path.parent)) > 0:
            raise no_space(path.parent, missing=missing, what=path.name)
        try:
            with temporary.open("wb") as file:
                _write_tar(file, content, names, store)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(path)
            fsync_directory(path.parent)
        finally:
            temporary.unlink(missing_ok=True)


def read_index(path: Path) -> BundleIndex:
    """The table of contents. Reads headers only; digests are checked when a file is used."""
    files: dict[str, Extent] = {}
    manifest: Manifest | None = None
    try:
        with tarfile.open(path, "r:") as tar:
            for info in tar:
                if info.name == MANIFEST and (stream := tar.extractfile(info)):
                    manifest = parse_manifest(stream.read(), f"{MANIFEST} in {path}")
                elif info.isreg() and info.name.startswith(_PREFIX):
                    files[info.name.removeprefix(_PREFIX)] = Extent(offset=info.offset_data, size=info.size)
    except OSError as error:
        raise failure(Code.UNREADABLE, f"{path} cannot be read: {error.strerror or error}") from error
    except (tarfile.TarError, EOFError) as error:
        raise failure(Code.BAD_MANIFEST, f"{path} is not an offline bundle: {error}") from error
    if manifest is None:
        raise failure(Code.BAD_MANIFEST, f"{path} is not an offline bundle: it holds no {MANIFEST}")
    return BundleIndex(manifest=manifest, files=files)


def digest_in_bundle(path: Path, extent: Extent) -> str:
    """The SHA-256 of a file where it lies in the bundle; of less than the whole if the bundle is cut off."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        file.seek(extent.offset)
        rest = extent.size
        while rest > 0 and (chunk := file.read(min(CHUNK, rest))):
            digest.update(chunk)
            rest -= len(chunk)
    return digest.hexdigest()


def _write_tar(
    file: io.BufferedWriter, content: bytes, names: Mapping[str, FileEntry | PackageEntry], store: Store
) -> None:
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        tar.addfile(_member(MANIFEST, len(content)), io.BytesIO(content))
        for sha256, entry in sorted(names.items()):
            source = store.require(sha256, name=entry.name)
            with source.open("rb") as stream:
                tar.addfile(_member(_PREFIX + sha256, os.fstat(stream.fileno()).st_size), stream)


def _member(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    info.mode = 0o444
    return info  # no time, no owner: the same content gives the same bytes
