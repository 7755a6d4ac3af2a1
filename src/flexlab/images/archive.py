"""Container images, written by ourselves: an OCI image layout in a tar, as `ctr images import` takes it."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec

from flexlab.errors import LabError
from flexlab.images.tarball import Item, write_tar, write_tar_gz
from flexnode.model import Arch

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"

NAME_ANNOTATION = "io.containerd.image.name"
TAG_ANNOTATION = "org.opencontainers.image.ref.name"


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageArchive:
    """An image in a file. `digest` is the manifest's, `sha256:…`, the one a registry knows it by."""

    name: str
    reference: str
    path: Path
    digest: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """What an image consists of: one layer of files, and how it is started."""

    items: tuple[Item, ...]
    arch: Arch
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: tuple[str, ...] = ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",)
    working_dir: str = "/"
    user: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Descriptor:
    """A blob by its digest."""

    media_type: str
    digest: str
    size: int
    annotations: dict[str, str] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = {"mediaType": self.media_type, "digest": self.digest, "size": self.size}
        if self.annotations:
            plain["annotations"] = self.annotations
        return plain


def write_image(image: Image, references: Iterable[str], path: Path) -> str:
    """Write `image` under all of `references` to `path`; return its manifest's digest."""
    with tempfile.TemporaryFile() as layer:
        write_tar_gz(layer, image.items)
        layer_blob = _describe_stream(layer, LAYER)
        config = _encode(_compose_config(image, _uncompressed_digest(layer)))
        config_blob = _describe(config, CONFIG)
        manifest = _encode(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": config_blob.plain(),
                "layers": [layer_blob.plain()],
            }
        )
        manifest_blob = _describe(manifest, MANIFEST)
        layer.seek(0)
        blobs = {
            config_blob.digest: config,
            manifest_blob.digest: manifest,
            layer_blob.digest: layer.read(),
        }
    platform = {"architecture": image.arch.value, "os": "linux"}
    index = {
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [
            {**manifest_blob.plain(), "platform": platform, "annotations": _name_annotations(reference)}
            for reference in references
        ],
    }
    items = [
        Item(name="oci-layout", mode=0o644, data=_encode({"imageLayoutVersion": "1.0.0"})),
        Item(name="index.json", mode=0o644, data=_encode(index)),
        *(Item(name=_blob_path(digest), mode=0o644, data=data) for digest, data in blobs.items()),
    ]
    with path.open("wb") as stream:
        write_tar(stream, items)
    return manifest_blob.digest


class ImageReader:
    """Reads the blobs of an image archive."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read_blob(self, digest: str) -> bytes:
        return self._read(_blob_path(digest))

    def manifest_digest(self) -> str:
        digest: str = msgspec.json.decode(self._read("index.json"))["manifests"][0]["digest"]
        return digest

    def references(self) -> list[str]:
        manifests = msgspec.json.decode(self._read("index.json"))["manifests"]
        return [each["annotations"][NAME_ANNOTATION] for each in manifests]

    def _read(self, name: str) -> bytes:
        with tarfile.open(self._path) as tar:
            try:
                stream = tar.extractfile(name)
            except KeyError:
                stream = None
            if stream is None:
                raise LabError(
                    f"{self._path} has no {name}: it is not a whole image archive",
                    code="images/bad-archive",
                    hint="remove it from the cache; it will be made again",
                )
            return stream.read()


def split_reference(reference: str) -> tuple[str, str, str]:
    """`host:port/name:tag` as host, name and tag."""
    host, _, rest = reference.partition("/")
    name, _, tag = rest.rpartition(":")
    return host, name, tag


def _compose_config(image: Image, diff_id: str) -> dict[str, Any]:
    run: dict[str, Any] = {"Env": list(image.env), "WorkingDir": image.working_dir}
    if image.entrypoint:
        run["Entrypoint"] = list(image.entrypoint)
    if image.command:
        run["Cmd"] = list(image.command)
    if image.user:
        run["User"] = image.user
    return {
        "architecture": image.arch.value,
        "os": "linux",
        "config": run,
        "rootfs": {"type": "layers", "diff_ids": [diff_id]},
    }


def _name_annotations(reference: str) -> dict[str, str]:
    return {NAME_ANNOTATION: reference, TAG_ANNOTATION: split_reference(reference)[2]}


def _blob_path(digest: str) -> str:
    return "blobs/" + digest.replace(":", "/")


def _encode(value: object) -> bytes:
    return msgspec.json.encode(value)


def _describe(data: bytes, media_type: str) -> Descriptor:
    return Descriptor(
        media_type=media_type, digest=f"sha256:{hashlib.sha256(data).hexdigest()}", size=len(data)
    )


def _describe_stream(stream: IO[bytes], media_type: str) -> Descriptor:
    size = stream.tell()
    stream.seek(0)
    return Descriptor(media_type=media_type, digest=_digest_stream(stream), size=size)


def _uncompressed_digest(layer: IO[bytes]) -> str:
    layer.seek(0)
    with gzip.GzipFile(fileobj=layer, mode="rb") as content:
        return _digest_stream(content)


def _digest_stream(stream: IO[bytes] | gzip.GzipFile) -> str:
    digest = hashlib.sha256()
    while chunk := stream.read(1 << 20):
        digest.update(chunk)
    return f"sha256:{digest.hexdigest()}"
