"""A machine without any package archive gets its packages from the bundle that it is given."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from flexnode.artifacts import (
    Code,
    Manifest,
    PackageEntry,
    Store,
    parse_manifest,
    render_manifest,
    write_bundle,
)
from flexnode.components.support import SUPPORT_TOOLS
from flexnode.errors import ArtifactError
from flexnode.flows.planning import plan_bootstrap
from flexnode.flows.target import Target, make_target
from flexnode.flows.unbootstrap import unbootstrap
from flexnode.generation import Result
from flexnode.host.fake import render_deb
from flexnode.resources.state import Packages
from unit.flows.world import CATALOG, World

NEEDED = {"conntrack": ("libnetfilter-conntrack3",), "iptables": ("libxtables12",)}
WANTED = CATALOG.packages("bookworm")


def make_debs() -> dict[str, bytes]:
    names = {*WANTED, *(each for needed in NEEDED.values() for each in needed)}
    return {name: render_deb(name, *NEEDED.get(name, ())) for name in sorted(names)}


DEBS = make_debs()


def list_packages(suite: str = "bookworm", arch: str = "amd64") -> tuple[PackageEntry, ...]:
    return tuple(
        PackageEntry(
            package=name,
            version="1.0",
            arch=arch,
            suite=suite,
            filename=f"{name}_1.0_{arch}.deb",
            sha256=sha256(data).hexdigest(),
            size=len(data),
        )
        for name, data in DEBS.items()
    )


def carry(folder: Path, packages: Iterable[PackageEntry]) -> None:
    """Put package files and the list of them into a directory with the layout of a store."""
    (folder / "sha256").mkdir(parents=True, exist_ok=True)
    manifest = Manifest(catalog="1", kubernetes=("1.35.0",), packages=tuple(packages))
    for entry in manifest.packages:
        (folder / "sha256" / entry.sha256).write_bytes(DEBS[entry.package])
    (folder / "manifest.json").write_bytes(render_manifest(manifest))


@pytest.fixture
def offline(world: World) -> World:
    """A machine with nothing but a mirror that carries package files: no archive knows or gives anything."""
    carry(world.mirror, list_packages())
    world.host.packages.archive.clear()
    world.host.packages.reachable = False
    return world


def target(world: World, *sources: Path, keep: bool = True) -> Target:
    named = [str(each) for each in sources or (world.mirror,)]
    sections: dict[str, Any] = {"artifacts": {**world.config["artifacts"], "sources": named}}
    return make_target(world.resolved(**sections), world.workplace, keep=keep)


def debs_of(found: Target) -> tuple[str, ...]:
    tools = found.generation.find(SUPPORT_TOOLS)
    assert tools is not None
    assert isinstance(tools.want, Packages)
    return tools.want.debs


ALL = tuple(sorted(each.sha256 for each in list_packages()))


def test_a_machine_without_an_archive_becomes_a_node_and_is_what_it_was_again(offline: World) -> None:
    before = offline.host.snapshot()
    outcome = offline.bootstrap()
    assert outcome.failure is None
    there = {*WANTED, "libnetfilter-conntrack3", "libxtables12"}
    assert offline.host.packages.installed(there) == there
    assert unbootstrap(offline.workplace).result is Result.LEFT
    assert offline.host.snapshot() == before
    assert not (offline.directory.root / "packages.json").exists()


def test_a_machine_is_prepared_from_a_bundle_that_is_gone_when_it_joins(offline: World) -> None:
    """The join finds the packages in place, and makes of them what was made of them before."""
    minor = {"versions": {"kubernetes": "1.35"}}
    prepared = offline.prepare(**minor)
    assert prepared.failure is None
    assert offline.host.packages.installed(WANTED) == set(WANTED)
    shutil.rmtree(offline.mirror)
    target = make_target(offline.resolved(**minor), offline.workplace, keep=False)
    assert target.generation.baked().id == prepared.generation
    assert debs_of(target) == ALL
    assert offline.bootstrap(**minor).result is Result.CONFIRMED


def test_a_bundle_serves_as_the_only_source(offline: World) -> None:
    listed = parse_manifest((offline.mirror / "manifest.json").read_bytes(), "mirror")
    bundle = offline.folder / "node.tar"
    write_bundle(bundle, listed, Store(offline.mirror))
    assert debs_of(target(offline, bundle)) == ALL


def test_a_mirror_that_does_not_answer_is_no_reason_to_forget(offline: World) -> None:
    """Its files are in the store: the node that is composed must stay the same one."""
    joined = target(offline)
    away = "http://127.0.0.1:9"
    sections = {"artifacts": {**offline.config["artifacts"], "sources": [away]}}
    again = make_target(offline.resolved(**sections), offline.workplace)
    assert debs_of(again) == debs_of(joined) == ALL


def test_package_files_are_verified_like_all_others(offline: World) -> None:
    (offline.mirror / "sha256" / ALL[0]).write_bytes(b"something else")
    offline.host.writes.clear()
    with pytest.raises(ArtifactError) as caught:
        offline.bootstrap()
    assert caught.value.code == Code.DIGEST_MISMATCH
    assert offline.host.writes == [], "the machine was changed before all files were here"


@pytest.mark.parametrize(("suite", "arch"), [("trixie", "amd64"), ("bookworm", "arm64")])
def test_packages_of_another_system_are_left_alone(world: World, suite: str, arch: str) -> None:
    carry(world.mirror, list_packages(suite, arch))
    assert debs_of(target(world)) == ()


def test_packages_of_every_processor_are_taken(world: World) -> None:
    carry(world.mirror, list_packages(arch="all"))
    assert debs_of(target(world)) == ALL


def test_a_source_without_packages_leaves_them_to_the_archives(world: World) -> None:
    assert debs_of(target(world)) == ()
    assert world.bootstrap().failure is None


def test_nothing_is_fetched_for_packages_that_are_there(offline: World) -> None:
    offline.host.packages.present.update(WANTED)
    found = target(offline)
    assert debs_of(found) == ()
    assert not set(ALL).intersection(need.sha256 for need in found.generation.needs)


def test_a_bundle_that_is_gone_makes_no_other_node(offline: World) -> None:
    """It was carried to the machine on a stick, and the stick is somewhere else now."""
    offline.bootstrap()
    joined = target(offline).generation
    shutil.rmtree(offline.mirror)
    assert target(offline).generation == joined
    assert not plan_bootstrap(offline.resolved(), offline.workplace).changes


def test_a_package_that_somebody_removed_comes_back_without_its_bundle(offline: World) -> None:
    offline.bootstrap()
    shutil.rmtree(offline.mirror)
    offline.host.packages.purge(["libnetfilter-conntrack3"])
    assert offline.bootstrap().failure is None
    assert offline.host.packages.installed(["conntrack"]) == {"conntrack"}


def test_a_newer_bundle_takes_the_place_of_one_that_did_not_fit(offline: World) -> None:
    offline.host.packages.upgrades["iptables"] = ("libc6",)
    outcome = offline.bootstrap()
    assert outcome.failure is not None
    assert outcome.failure.code == "package/would-upgrade"
    assert "artifacts bundle" in outcome.failure.hint
    newer = [replace_entry(each) for each in list_packages()]
    carry(offline.mirror, newer)
    for entry in newer:
        (offline.mirror / "sha256" / entry.sha256).write_bytes(DEBS[entry.package] + b"\n")
    assert debs_of(target(offline)) == tuple(sorted(each.sha256 for each in newer))


def replace_entry(entry: PackageEntry) -> PackageEntry:
    data = DEBS[entry.package] + b"\n"
    return msgspec.structs.replace(entry, sha256=sha256(data).hexdigest(), size=len(data), version="1.1")


def test_a_plan_remembers_nothing(offline: World) -> None:
    target(offline, keep=False)
    assert not (offline.directory.root / "packages.json").exists()


def test_a_package_that_one_component_needs_comes_from_the_bundle_too(offline: World) -> None:
    """Without the support tools the packet filter still has to come from somewhere."""
    found = target(offline)
    inputs = replace(found.parts, packages=())
    assert inputs.find_debs(["nftables"]) == ALL
    assert inputs.find_debs(["systemd-timesyncd"]) == ()


def test_behind_a_proxy_the_archives_are_reached_through_it(world: World) -> None:
    """Without a bundle apt is asked, and the configured proxy is its only way out."""
    proxy = "http://proxy.example:3128"
    world.host.packages.behind = proxy
    outcome = world.bootstrap(proxy={"http": proxy, "noProxy": ["127.0.0.1"]})
    assert outcome.failure is None
    assert world.host.packages.installed(WANTED) == set(WANTED)
