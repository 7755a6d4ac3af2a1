"""A node is made of files that go together, or of those that the user named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flexnode.catalog import load_catalog
from flexnode.errors import CatalogError
from flexnode.flows.parts import choose_parts, load_spec_catalog
from flexnode.model import Arch
from flexnode.model.facts import Facts
from flexnode.model.machine import MachineSpec, Versions
from flexnode.model.spec import NodeSpec

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


def test_a_version_that_the_user_names_wins_over_the_release_set() -> None:
    usual = choose_parts(CATALOG, spec(), FACTS).artifacts["runc"].version
    other = next(version for version in CATALOG.versions("runc") if version != usual)
    chosen = choose_parts(CATALOG, spec(runc=other), FACTS)
    assert chosen.artifacts["runc"].version == other
    assert chosen.artifacts["containerd"] == choose_parts(CATALOG, spec(), FACTS).artifacts["containerd"]


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
