"""Which artifacts are meant, and how to reach them: the part that mirroring, bundling and staging share."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from flexnode.artifacts import (
    Fetcher,
    FileEntry,
    HttpSettings,
    Limits,
    LocalFailure,
    Manifest,
    Store,
    describe_file,
    open_sources,
    render_size,
)
from flexnode.catalog import Catalog, load_catalog
from flexnode.clock import Clock
from flexnode.errors import ArtifactError, UsageError
from flexnode.model import Arch, Artifact
from flexnode.model.artifact import MACHINES
from flexnode.progress import Progress


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """What somebody asked for. Nothing named: the default version, this machine's processor."""

    kubernetes: tuple[str, ...] = ()
    arches: tuple[Arch, ...] = ()
    overlays: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """Where files come from, and how to reach it."""

    sources: tuple[str, ...] = ("vendor",)
    http: HttpSettings = field(default_factory=HttpSettings)
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, kw_only=True, slots=True)
class Selected:
    """A selection, looked up in the catalog."""

    catalog: Catalog
    kubernetes: tuple[str, ...]
    arches: tuple[Arch, ...]
    needed: tuple[Artifact, ...]
    optional: tuple[Artifact, ...]  # a node works without them


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """An optional file that no source had, and why."""

    name: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Gathered:
    """A finished mirror or bundle. With something left out it is a goal reached with a reservation."""

    manifest: Manifest
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fetched:
    """What fetching a selection brought."""

    files: tuple[FileEntry, ...]
    left_out: tuple[LeftOut, ...]


def select(selection: Selection) -> Selected:
    """The artifacts of a node of the selected versions, each file once."""
    catalog = load_catalog(selection.overlays)
    sets = [catalog.release_set(version) for version in selection.kubernetes or (None,)]
    arches = selection.arches or (machine_arch(),)
    pairs = [(release_set, arch) for release_set in sets for arch in arches]
    needed = {each.sha256: each for pair in pairs for each in catalog.artifacts(*pair)}
    all_of_them = {each.sha256: each for pair in pairs for each in catalog.artifacts(*pair, optional=True)}
    return Selected(
        catalog=catalog,
        kubernetes=tuple(sorted({release_set.kubernetes for release_set in sets})),
        arches=tuple(dict.fromkeys(arches)),
        needed=tuple(needed.values()),
        optional=tuple(each for sha256, each in all_of_them.items() if sha256 not in needed),
    )


def machine_arch() -> Arch:
    """The processor architecture of this machine."""
    machine = os.uname().machine
    if machine not in MACHINES:
        raise UsageError(f"nothing is published for {machine}", hint="name an architecture with --arch")
    return MACHINES[machine]


def fetch_into(
    store: Store, selected: Selected, access: Access, *, clock: Clock, progress: Progress
) -> Fetched:
    """Bring the selected artifacts into `store`; what is optional and cannot be had is left out."""
    with (
        progress.step(f"fetch {len(selected.needed) + len(selected.optional)} files"),
        open_sources(access.sources, settings=access.http, clock=clock) as sources,
    ):
        fetcher = Fetcher(store, sources, clock=clock, limits=access.limits, progress=progress)
        paths = fetcher.fetch_all(selected.needed)
        files = [describe_file(*pair) for pair in zip(selected.needed, map(_size, paths), strict=True)]
        left_out = []
        for artifact in selected.optional:
            try:
                files.append(describe_file(artifact, _size(fetcher.fetch(artifact))))
            except LocalFailure:
                raise
            except ArtifactError as error:
                left_out.append(LeftOut(name=str(artifact), reason=error.message))
        progress.note(render_size(sum(entry.size for entry in files)))
    return Fetched(files=tuple(files), left_out=tuple(left_out))


def _size(path: Path) -> int:
    return path.stat().st_size
