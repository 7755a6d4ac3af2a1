"""The table of contents of a mirror or a bundle: `manifest.json` beside `sha256/`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, TypeVar

import msgspec

from flexnode.artifacts.failures import Code, failure
from flexnode.model import Arch, Artifact, Flavour, Format

MANIFEST = "manifest.json"

Entry = TypeVar("Entry", "FileEntry", "PackageEntry")
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class FileEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One file of one component."""

    component: str
    version: str
    arch: Arch
    flavour: Flavour
    format: Format
    sha256: Digest
    size: int
    members: dict[str, Digest | None] = {}

    @property
    def name(self) -> str:
        return f"{self.component} {self.version} ({self.arch})"


class PackageEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One Debian package of one suite."""

    package: str
    version: str
    arch: str  # a Debian architecture, or "all"
    suite: str
    filename: str
    sha256: Digest
    size: int

    @property
    def name(self) -> str:
        return f"{self.package} {self.version} ({self.suite}, {self.arch})"


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What should lie beside it. Nothing in it is trusted: every file is checked against its digest."""

    api_version: Literal["flexnode.io/v1"] = msgspec.field(name="apiVersion", default="flexnode.io/v1")
    kind: Literal["ArtifactManifest"] = "ArtifactManifest"
    catalog: str  # the version of the catalog that it was made from
    kubernetes: tuple[str, ...]
    files: tuple[FileEntry, ...] = ()
    packages: tuple[PackageEntry, ...] = ()

    def entries(self) -> tuple[FileEntry | PackageEntry, ...]:
        return (*self.files, *self.packages)


def describe_file(artifact: Artifact, size: int) -> FileEntry:
    """The entry of an artifact whose file has been fetched."""
    return FileEntry(
        component=artifact.component,
        version=artifact.version,
        arch=artifact.arch,
        flavour=artifact.flavour,
        format=artifact.format,
        sha256=artifact.sha256,
        size=size,
        members={member.path: member.sha256 for member in artifact.members},
    )


def merge_manifests(old: Manifest | None, new: Manifest) -> Manifest:
    """`new`, and what `old` listed besides: a mirror is filled in several runs."""
    if old is None:
        return new
    return Manifest(
        catalog=new.catalog,
        kubernetes=tuple(sorted({*old.kubernetes, *new.kubernetes})),
        files=_union(old.files, new.files),
        packages=_union(old.packages, new.packages),
    )


def render_manifest(manifest: Manifest) -> bytes:
    """The one way to write it: the same content gives the same bytes."""
    ordered = msgspec.structs.replace(
        manifest,
        kubernetes=tuple(sorted(manifest.kubernetes)),
        files=_union(manifest.files),
        packages=_union(manifest.packages),
    )
    # The defaults are said, too: a reader sees at once what kind of document this is.
    head = {"apiVersion": ordered.api_version, "kind": ordered.kind}
    content = {**head, **msgspec.to_builtins(ordered)}
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def parse_manifest(data: bytes, origin: str) -> Manifest:
    """The manifest in `data`; `origin` names it in errors."""
    try:
        return msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise failure(Code.BAD_MANIFEST, f"{origin} is not an artifact manifest: {error}") from error


def _union(*lists: Iterable[Entry]) -> tuple[Entry, ...]:
    # Two architectures may share one file (an `all` package), so the digest alone is not the key.
    found = {(entry.name, entry.sha256): entry for entries in lists for entry in entries}
    return tuple(found[key] for key in sorted(found))
