"""An overlay: a file of artifacts that somebody built or keeps, laid over the shipped catalog.

What the shipped catalog may leave open an overlay may not: each entry has its digest, and each installed file
of an archive has one too.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import msgspec

from flexnode.catalog.document import Digest, Name, Version, invalid
from flexnode.catalog.layout import render_json, version_key
from flexnode.errors import CatalogError
from flexnode.model.artifact import Arch, Artifact, Flavour, Format, Member


class OverlayMember(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    sha256: Digest | None = None


class OverlayArtifact(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    component: Name
    version: Version
    arch: Arch
    flavour: Flavour
    format: Format
    sha256: Digest | None = None
    size: Annotated[int, msgspec.Meta(gt=0)] | None = None
    urls: list[str] = []
    members: list[OverlayMember] = []


class Overlay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: Annotated[int, msgspec.Meta(ge=1, le=1)]
    artifacts: list[OverlayArtifact]


def read_overlay(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CatalogError(
            f"the overlay catalog {path} cannot be read: {error.strerror}",
            code="catalog/unreadable",
            hint="name the file that the build wrote",
        ) from error


def parse_overlay(data: bytes, origin: str) -> tuple[Artifact, ...]:
    """The artifacts in `data`; `origin` names it in errors."""
    try:
        overlay = msgspec.json.decode(data, type=Overlay)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise invalid(origin, str(error)) from error
    problems = []
    artifacts: dict[tuple[str, str, Arch, Flavour], Artifact] = {}
    for entry in overlay.artifacts:
        if entry.sha256 is None:
            problems.append(f"{_name(entry)} has no digest")
            continue
        problems += _problems(entry)
        key = (entry.component, entry.version, entry.arch, entry.flavour)
        if key in artifacts:
            problems.append(f"{_name(entry)} is listed twice")
        artifacts[key] = Artifact(
            component=entry.component,
            version=entry.version,
            arch=entry.arch,
            flavour=entry.flavour,
            format=entry.format,
            sha256=entry.sha256,
            size=entry.size,
            urls=tuple(entry.urls),
            members=tuple(Member(path=member.path, sha256=member.sha256) for member in entry.members),
        )
    if problems:
        raise invalid(origin, "; ".join(problems))
    return tuple(artifacts.values())


def render_overlay(artifacts: Iterable[Artifact]) -> bytes:
    """An overlay file that lists `artifacts`; refuses what `parse_overlay` would refuse."""
    ordered = sorted(
        artifacts, key=lambda each: (each.component, version_key(each.version), each.arch, each.flavour)
    )
    overlay = Overlay(
        format=1,
        artifacts=[
            OverlayArtifact(
                component=each.component,
                version=each.version,
                arch=each.arch,
                flavour=each.flavour,
                format=each.format,
                sha256=each.sha256,
                size=each.size,
                urls=list(each.urls),
                members=[OverlayMember(path=member.path, sha256=member.sha256) for member in each.members],
            )
            for each in ordered
        ],
    )
    data = render_json(msgspec.to_builtins(overlay))
    parse_overlay(data, "the new overlay")
    return data


def _problems(entry: OverlayArtifact) -> list[str]:
    problems = [
        f"{member.path} in {_name(entry)} has no digest" for member in entry.members if member.sha256 is None
    ]
    if entry.format is Format.TAR_GZ and not entry.members:
        problems.append(f"{_name(entry)} is an archive of which nothing gets installed")
    return problems


def _name(entry: OverlayArtifact) -> str:
    return f"{entry.component} {entry.version} ({entry.arch}, {entry.flavour})"
