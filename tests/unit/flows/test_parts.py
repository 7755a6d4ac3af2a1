"""A node is made of files that go together, or of those that the user named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flexnode.catalog import load_catalog, render_overlay
from flexnode.components.joining import NodeInputs
from flexnode.components.node import compose_node
from flexnode.errors import CatalogError
from flexnode.flows.parts import choose_parts, load_spec_catalog
from flexnode.model import Arch, Flavour
from flexnode.model.facts import Facts
from flexnode.model.machine import MachineSpec, Versions
from flexnode.model.spec import ArtifactsSpec, NodeSpec
from unit.components.samples import SPEC

CATALOG = load_catalog()
FACTS = Facts(arch=Arch.AMD64, os_id="debian", os_version="12", codename="bookworm", cpus=2, memory=1 << 32)
NEEDED = {"kubelet", "kubectl", "containerd", "runc", "cni-plugins"}


def spec(**versions: str) -> NodeSpec:
    return NodeSpec(machine=MachineSpec(versions=Versions(**versions)))


@pytest.mark.parametrize("minor", sorted(CATALOG.document.release_sets))
@pytest.mark.parametrize("arch", list(Arch))
def test_every_release_set_gives_a_whole_node(minor: str, arch: Arch) -> None:
    parts = choose_parts(CATALOG, spec(kubernetes=minor), replace(FACTS, arch=arch))
    assert parts.kubernetes.startswith(f"{minor}.")
    assert parts.artifacts.keys() >= NEEDED
    assert all(artifact.arch is arch for artifact in parts.artifacts.values())
    assert parts.artifacts["kubelet"].version == parts.kubernetes
    assert parts.packages
    assert ":" in parts.pause_image


@pytest.mark.parametrize("minor", sorted(CATALOG.document.release_sets))
@pytest.mark.parametrize("arch", list(Arch))
def test_a_node_takes_no_file_of_another_architecture(minor: str, arch: Arch) -> None:
    """A program of another one does not start, and its digest would be right all the same."""
    facts = replace(FACTS, arch=arch, hostname="edge1")
    wanted = replace(spec(kubernetes=minor), cluster=SPEC.cluster, credentials=SPEC.credentials)
    parts = choose_parts(CATALOG, wanted, facts, optional=True)
    needed = {need.sha256 for need in compose_node(NodeInputs(spec=wanted, parts=parts, facts=facts)).needs}
    release_set = CATALOG.release_set(minor)
    published = {each.sha256 for each in CATALOG.artifacts(release_set, arch, optional=True)}
    assert len(needed) >= len(NEEDED)
    assert needed <= published


@pytest.mark.parametrize(
    ("setting", "component"),
    [
        ("kubernetes", "kubelet"),
        ("containerd", "containerd"),
        ("runc", "runc"),
        ("cni_plugins", "cni-plugins"),
    ],
)
def test_a_version_that_the_user_names_wins_over_the_release_set(setting: str, component: str) -> None:
    usual = choose_parts(CATALOG, spec(), FACTS).artifacts
    published = CATALOG.document.components[component].versions
    other = next(each for each in published if each != usual[component].version and published[each].release)
    chosen = choose_parts(CATALOG, spec(**{setting: other}), FACTS).artifacts
    assert chosen[component].version == other
    if setting != "kubernetes":  # which chooses all the others
        assert {**chosen, component: usual[component]} == usual


def test_a_build_of_the_user_s_own_is_what_a_node_gets(tmp_path: Path) -> None:
    usual = choose_parts(CATALOG, spec(), FACTS).artifacts["runc"]
    mine = replace(usual, flavour=Flavour.SOURCE, sha256="5" * 64, urls=())
    overlay = tmp_path / "overlay.json"
    overlay.write_bytes(render_overlay([mine]))
    wanted = replace(spec(), artifacts=ArtifactsSpec(overlays=(str(overlay),)))
    assert choose_parts(load_spec_catalog(wanted), wanted, FACTS).artifacts["runc"].sha256 == mine.sha256


def test_nothing_that_a_control_plane_needs_is_fetched_to_a_node() -> None:
    assert not {"etcd", "kube-apiserver"} & choose_parts(CATALOG, spec(), FACTS).artifacts.keys()


def test_what_a_node_works_without_is_added_on_demand() -> None:
    usual = choose_parts(CATALOG, spec(), FACTS).artifacts
    more = choose_parts(CATALOG, spec(), FACTS, optional=True).artifacts
    assert "crictl" not in usual
    assert "crictl" in more
    assert {**usual, **more} == more


@pytest.mark.parametrize(
    ("asked", "facts", "code"),
    [
        (spec(kubernetes="1.12"), FACTS, "catalog/unknown-kubernetes"),
        (spec(runc="0.0.1"), FACTS, "catalog/unknown-version"),
        (spec(), replace(FACTS, codename="buster"), "catalog/unknown-suite"),
    ],
)
def test_what_the_catalog_does_not_know_is_said(asked: NodeSpec, facts: Facts, code: str) -> None:
    with pytest.raises(CatalogError) as caught:
        choose_parts(load_spec_catalog(asked), asked, facts)
    assert caught.value.code == code
    assert caught.value.hint
