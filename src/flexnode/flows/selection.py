"""Which artifacts are meant, and how to reach them: the part that mirroring, bundling and staging share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from flexnode.artifacts import (
    Fetcher,
    FileEntry,
    HttpSettings,
    Limits,
    Store,
    describe_file,
    open_sources,
    render_size,
)
from flexnode.catalog import Catalog, load_catalog
from flexnode.clock import Clock
from flexnode.errors import UsageError
from flexnode.model import Arch, Artifact
from flexnode.progress import Progress

_MACHINES = {"x86_64": Arch.AMD64, "aarch64": Arch.ARM64}


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
    artifacts: tuple[Artifact, ...]


def select(selection: Selection) -> Selected:
    """The artifacts of a node of the selected versions, each file once."""
    catalog = load_catalog(selection.overlays)
    sets = [catalog.release_set(version) for version in selection.kubernetes or (None,)]
    arches = selection.arches or (machine_arch(),)
    found = [
        artifact
        for release_set in sets
        for arch in arches
        for artifact in catalog.artifacts(release_set, arch, optional=True)
    ]
    return Selected(
        catalog=catalog,
        kubernetes=tuple(sorted({release_set.kubernetes for release_set in sets})),
        arches=tuple(dict.fromkeys(arches)),
        artifacts=tuple({artifact.sha256: artifact for artifact in found}.values()),
    )


def machine_arch() -> Arch:
    """The processor architecture of this machine."""
    machine = os.uname().machine
    if machine not in _MACHINES:
        raise UsageError(f"nothing is published for {machine}", hint="name an architecture with --arch")
    return _MACHINES[machine]


def fetch_into(
    store: Store, artifacts: Iterable[Artifact], access: Access, *, clock: Clock, progress: Progress
) -> tuple[FileEntry, ...]:
    """Bring the artifacts into `store` and return their manifest entries."""
    wanted = list(artifacts)
    with (
        progress.step(f"fetch {len(wanted)} files"),
        open_sources(access.sources, settings=access.http, clock=clock) as sources,
    ):
        fetcher = Fetcher(store, sources, clock=clock, limits=access.limits, progress=progress)
        paths = fetcher.fetch_all(wanted)
        entries = tuple(
            describe_file(artifact, path.stat().st_size) for artifact, path in zip(wanted, paths, strict=True)
        )
        progress.note(render_size(sum(entry.size for entry in entries)))
    return entries
