"""What a cluster tells of itself is asked once in the life of a node, and believed where it is proven."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flexnode.errors import FlexError
from flexnode.flows.findings import Filled, Findings, fill, forget_findings, recall, remember
from flexnode.flows.target import make_target
from flexnode.generation import Result, StateDirectory
from flexnode.kube import Code
from flexnode.kube.pem import parse_certificates
from flexnode.kube.x509 import parse_certificate
from flexnode.model.spec import ServingCertificates
from unit.config.samples import SMALL, resolve_documents, small
from unit.flows.world import SYSTEM, World

SERVER = "https://api.example.com:6443"
FINDINGS = Findings(
    server=SERVER,
    ca="PEM of the cluster",
    settings={"cluster.dnsServiceIP": "10.96.0.10", "cluster.domain": "corp.local"},
    approves_serving=True,
)


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    return StateDirectory(root=tmp_path / "state")


def test_what_was_told_is_remembered(directory: StateDirectory) -> None:
    remember(directory, FINDINGS)
    assert recall(directory, SERVER) == FINDINGS


def test_another_cluster_told_nothing_yet(directory: StateDirectory) -> None:
    remember(directory, FINDINGS)
    assert recall(directory, "https://other.example.com:6443") is None


@pytest.mark.parametrize("damage", [b"", b"{", b"\0" * 100, b'{"schema":1,"sha256":"x","payload":{}}'])
def test_damaged_it_is_asked_again(directory: StateDirectory, damage: bytes) -> None:
    remember(directory, FINDINGS)
    (directory.root / "cluster.json").write_bytes(damage)
    assert recall(directory, SERVER) is None
    remember(directory, FINDINGS)
    assert recall(directory, SERVER) == FINDINGS


def test_forgotten_it_is_gone_and_may_be_forgotten_again(directory: StateDirectory) -> None:
    forget_findings(directory)
    remember(directory, FINDINGS)
    forget_findings(directory)
    forget_findings(directory)
    assert recall(directory, SERVER) is None


def test_what_is_known_already_is_not_written_again(directory: StateDirectory) -> None:
    remember(directory, FINDINGS)
    path = directory.root / "cluster.json"
    before = path.stat()
    remember(directory, FINDINGS)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def filled(findings: Findings | None, **sections: Any) -> Filled:
    return fill(resolve_documents(small(**sections)), findings)


def test_only_what_nobody_set_is_filled() -> None:
    cluster = {**SMALL["cluster"], "dnsServiceIP": "10.0.0.10"}
    spec = filled(FINDINGS, cluster=cluster).spec
    assert spec.cluster.dns_service_ip == "10.0.0.10"
    assert spec.cluster.domain == "corp.local"


def test_a_configured_authority_stays_the_authority() -> None:
    assert filled(FINDINGS).spec.cluster.ca == SMALL["cluster"]["ca"]


def test_nothing_found_changes_nothing() -> None:
    assert filled(None).spec == resolve_documents(SMALL).spec


@pytest.mark.parametrize(
    ("approves", "settled"),
    [(True, ServingCertificates.ON), (False, ServingCertificates.OFF), (None, ServingCertificates.OFF)],
)
def test_serving_certificates_are_settled_by_what_was_seen(
    approves: bool | None, settled: ServingCertificates
) -> None:
    found = Findings(server=SERVER, ca="", approves_serving=approves)
    assert filled(found).spec.kubelet.serving_certificates is settled


def test_a_cluster_is_asked_once(world: World) -> None:
    resolved = world.resolved()
    first = make_target(resolved, world.workplace)
    assert world.server.seen
    world.server.seen.clear()
    assert make_target(resolved, world.workplace).generation == first.generation
    assert world.server.seen == []


def test_who_only_plans_remembers_nothing(world: World) -> None:
    make_target(world.resolved(), world.workplace, keep=False)
    assert recall(world.directory, world.server.url) is None
    assert not world.directory.root.exists()


def test_a_cluster_that_changes_does_not_change_its_nodes(joined: World) -> None:
    """Its DNS service gets another address: the node is changed when its owner says so, and not before."""
    joined.cluster.put(f"{SYSTEM}/services/kube-dns", {"spec": {"clusterIP": "10.96.0.53"}})
    assert joined.bootstrap().result is Result.UNCHANGED
    assert joined.bootstrap(cluster={**joined.config["cluster"], "dnsServiceIP": "10.96.0.53"}).restarts == (
        "kubelet.service",
    )


def test_damage_to_what_was_told_is_mended_by_asking_again(joined: World) -> None:
    (joined.directory.root / "cluster.json").write_bytes(b"\0" * 100)
    assert joined.bootstrap().result is Result.UNCHANGED
    assert joined.server.seen
    joined.server.seen.clear()
    joined.bootstrap()
    assert joined.server.seen == []


def test_an_authority_that_was_proven_is_the_nodes_authority_from_then_on(world: World) -> None:
    """By a hash of its key, and a signature made with the token; a day later the token is gone."""
    world.publish()
    (der,) = parse_certificates(world.server.ca)
    cluster = {"server": world.server.url, "caHashes": [parse_certificate(der).public_key_hash]}
    assert world.bootstrap(cluster=cluster).result is Result.CONFIRMED
    ca = world.host.files.read("/etc/kubernetes/pki/ca.crt").decode()
    assert parse_certificates(ca) == (der,)
    world.cluster_info = {}
    world.accepted = "000000.0000000000000000"
    world.host.writes.clear()
    assert world.bootstrap(cluster=cluster).result is Result.UNCHANGED
    assert world.host.writes == []


def test_an_authority_that_is_not_the_pinned_one_is_not_believed(world: World) -> None:
    """Somebody answers in the cluster's place: the token is not sent there, and nothing is changed."""
    world.publish()
    cluster = {"server": world.server.url, "caHashes": ["sha256:" + "ab" * 32]}
    with pytest.raises(FlexError) as caught:
        world.bootstrap(cluster=cluster)
    assert caught.value.code == Code.CA_UNVERIFIED
    assert not caught.value.transient
    assert world.host.writes == []
    assert not [seen for seen in world.server.seen if "Authorization" in seen.headers]
