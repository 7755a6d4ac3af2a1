"""What a catalog may say, decoded strictly: an unknown key, a missing digest, a loose end are errors."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from flexnode.catalog.layout import render_json, version_key
from flexnode.errors import CatalogError
from flexnode.model.artifact import Arch, Format

Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Name = Annotated[str, msgspec.Meta(pattern="^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")]
Version = Annotated[str, msgspec.Meta(pattern=r"^[0-9]+(\.[0-9]+)+([-+.][0-9A-Za-z.+-]+)?$")]
ModuleVersion = Annotated[str, msgspec.Meta(pattern=r"^v[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$")]


class ReleaseFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A file as its vendor publishes it. `members` are the digests of files inside that somebody has read."""

    # Required; optional for the decoder, so that the error can say whose digest is missing.
    sha256: Digest | None = None
    size: Annotated[int, msgspec.Meta(gt=0)] | None = None
    members: dict[str, Digest] = {}


class VersionEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One version of a component: files that its vendor publishes, source to build it from, or both."""

    release: dict[Arch, ReleaseFile] = {}
    source: ModuleVersion | None = None


class Component(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One part of a node, or of the laboratory's control plane."""

    format: Format
    versions: dict[Version, VersionEntry]
    urls: list[str] = []  # templates with {version} and {arch}, in order of preference
    members: list[str] = []  # the files of an archive that get installed; templates too
    module: str | None = None  # the Go module that holds its source
    image: str | None = None  # reference template of the published container image
    follows_kubernetes: bool = False  # its version is the version of Kubernetes
    lab: bool = False  # only the laboratory needs it
    optional: bool = False  # a node works without it


class ReleaseSetEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Versions that go together, for one minor version of Kubernetes."""

    kubernetes: Version
    components: dict[Name, Version]


class Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole shipped catalog."""

    format: Annotated[int, msgspec.Meta(ge=1, le=1)]
    default_kubernetes: str
    components: dict[Name, Component]
    release_sets: dict[str, ReleaseSetEntry]
    packages: dict[Name, list[str]]  # Debian packages that a node needs, per suite


def parse_document(data: bytes, origin: str) -> Document:
    """The catalog in `data`; `origin` names it in errors."""
    document = decode_document(data, origin)
    if problems := find_problems(document):
        raise invalid(origin, "; ".join(problems))
    return document


def decode_document(data: bytes, origin: str) -> Document:
    """What `data` says, of the right shape but perhaps with loose ends: a draft that an update completes."""
    try:
        return msgspec.json.decode(data, type=Document)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise invalid(origin, str(error)) from error


def invalid(origin: str, problem: str) -> CatalogError:
    return CatalogError(
        f"{origin} is not an acceptable catalog: {problem}",
        code="catalog/invalid",
        hint="a catalog is written by a tool; reinstall the product, or build the overlay again",
    )


def render_catalog(document: Document) -> bytes:
    """The one way to write this catalog: names in order, oldest version first."""
    content: dict[str, Any] = msgspec.to_builtins(document)
    content["components"] = _sorted(content["components"])
    for component in content["components"].values():
        component["versions"] = _sorted(component["versions"], key=version_key)
        for entry in component["versions"].values():
            if "release" in entry:
                entry["release"] = _sorted(entry["release"])
            for file in entry.get("release", {}).values():
                if "members" in file:
                    file["members"] = _sorted(file["members"])
        component["versions"] = component.pop("versions")  # last: the rest reads like a header
    content["release_sets"] = _sorted(content["release_sets"], key=version_key)
    for entry in content["release_sets"].values():
        entry["components"] = _sorted(entry["components"])
    content["packages"] = {suite: sorted(names) for suite, names in _sorted(content["packages"]).items()}
    return render_json(content)


def find_problems(document: Document) -> list[str]:
    """What a schema cannot say: entries that contradict each other, or that nobody could use."""
    problems = []
    for name, component in document.components.items():
        problems += [f"{name}: {problem}" for problem in _component_problems(component)]
    for minor, entry in document.release_sets.items():
        if entry.kubernetes.rpartition(".")[0] != minor:
            problems.append(f"release set {minor} installs Kubernetes {entry.kubernetes}")
        for name, component in document.components.items():
            version = entry.kubernetes if component.follows_kubernetes else entry.components.get(name)
            if version is None:
                problems.append(f"release set {minor} names no version of {name}")
            elif version not in component.versions and not (component.lab and component.follows_kubernetes):
                problems.append(f"release set {minor} names {name} {version}, which has no entry")
        unknown = entry.components.keys() - document.components.keys()
        problems += [f"release set {minor} names the unknown component {name}" for name in sorted(unknown)]
    if document.default_kubernetes not in document.release_sets:
        problems.append(f"there is no release set for the default {document.default_kubernetes}")
    return problems


def _component_problems(component: Component) -> list[str]:
    problems = []
    if component.format is Format.TAR_GZ and not component.members:
        problems.append("an archive of which nothing gets installed")
    for version, entry in component.versions.items():
        if not entry.release and entry.source is None:
            problems.append(f"{version} has neither release files nor source")
        if entry.source is not None and component.module is None:
            problems.append(f"{version} can be built from source, but no module is named")
        if entry.release and not component.urls:
            problems.append(f"{version} is published, but no URL says where")
        for arch, file in entry.release.items():
            if file.sha256 is None:
                problems.append(f"the release file of {version} ({arch}) has no digest")
            known = {fill(member, version, arch) for member in component.members}
            problems += [
                f"{version} ({arch}) has no member {path}" for path in sorted(file.members.keys() - known)
            ]
    return problems


def fill(template: str, version: str, arch: Arch) -> str:
    """A URL or path template with its places filled."""
    return template.replace("{version}", version).replace("{arch}", arch.value)


def _sorted(mapping: dict[str, Any], key: Any = None) -> dict[str, Any]:
    return {name: mapping[name] for name in sorted(mapping, key=key)}
