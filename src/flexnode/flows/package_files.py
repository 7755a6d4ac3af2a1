"""Debian packages from the node's own sources: where a bundle carries them, no package archive is asked.

A source is asked only while the machine lacks a package. What it answered is remembered until the machine
leaves: a bundle may be gone by then, and the node must not become another one for that.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from flexnode.artifacts import PackageEntry, Store, find_manifest, open_sources
from flexnode.errors import ArtifactError
from flexnode.flows.cluster_facts import make_http_settings
from flexnode.flows.workplace import Workplace
from flexnode.generation.directory import StateDirectory
from flexnode.generation.durable import load, remove, save
from flexnode.generation.generation import Generation
from flexnode.model import Artifact, Flavour, Format
from flexnode.model.facts import Facts
from flexnode.model.spec import NodeSpec
from flexnode.resources.state import Packages


class PackageFiles(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The package files that a source carries for this machine, with all that they need."""

    packages: tuple[PackageEntry, ...] = ()


def choose_package_files(
    node: Generation, spec: NodeSpec, facts: Facts, workplace: Workplace, *, keep: bool
) -> tuple[Artifact, ...]:
    """The files to install the packages of `node` from; none where the machine's own archives serve.

    `keep`: whether they are remembered.
    """
    wanted = frozenset(name for each in node.resources for name in _packages_of(each.want))
    known = _recall(workplace.directory)
    if workplace.host.packages.installed(wanted) >= wanted:
        chosen = _stored(known, workplace)
    else:
        found = _ask(spec, facts, workplace)
        chosen = known if found is None else found
        if keep and chosen != known:
            workplace.directory.prepare()
            save(_path(workplace.directory), chosen)
    return tuple(_artifact(entry, facts) for entry in _fitting(chosen.packages, facts))


def forget_package_files(directory: StateDirectory) -> None:
    remove(_path(directory))


def _ask(spec: NodeSpec, facts: Facts, workplace: Workplace) -> PackageFiles | None:
    """Those of the first source that carries any. None where none does, and not every one could be asked."""
    settings = make_http_settings(spec)
    silent = False
    for text in spec.artifacts.sources:
        try:
            with open_sources((text,), settings=settings, clock=workplace.clock) as (source,):
                manifest = find_manifest(source)
        except ArtifactError:  # whether that matters shows when its files are needed
            silent = True
            continue
        if manifest and (found := _fitting(manifest.packages, facts)):
            return PackageFiles(packages=found)
    return None if silent else PackageFiles()


def _stored(known: PackageFiles, workplace: Workplace) -> PackageFiles:
    """Nothing needs them now: they are carried on as long as they cost nothing."""
    store = Store(workplace.directory.store, digests=workplace.digests)
    there = all(store.holds(entry.sha256) for entry in known.packages)
    return known if there else PackageFiles()


def _fitting(packages: Iterable[PackageEntry], facts: Facts) -> tuple[PackageEntry, ...]:
    arches = (facts.arch.value, "all")
    return tuple(each for each in packages if each.suite == facts.codename and each.arch in arches)


def _artifact(entry: PackageEntry, facts: Facts) -> Artifact:
    return Artifact(
        component=entry.package,
        version=entry.version,
        arch=facts.arch,
        flavour=Flavour.RELEASE,
        format=Format.FILE,
        sha256=entry.sha256,
        size=entry.size,
    )


def _packages_of(want: object) -> tuple[str, ...]:
    return want.installed if isinstance(want, Packages) else ()


def _recall(directory: StateDirectory) -> PackageFiles:
    return load(_path(directory), PackageFiles).value or PackageFiles()


def _path(directory: StateDirectory) -> Path:
    return directory.root / "packages.json"
