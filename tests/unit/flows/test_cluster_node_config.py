"""The ready-made configuration: what it says is right for a node, and the product itself can read it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flexlab.pki import create_authority
from flexnode.clock import FakeClock
from flexnode.config import load_config
from flexnode.errors import FlexError
from flexnode.flows.cluster_node_config import is_loopback, make_node_config
from flexnode.kube import Connection
from flexnode.kube.facts import SYSTEM
from flexnode.kube.fake import FakeCluster
from flexnode.progress import Silent
from flexnode.secret import Secret

CA = create_authority("kubernetes").certificate.decode()
SERVER = "https://10.0.0.1:6443"
TOKEN = Secret("abcdef.0123456789abcdef")
CONNECTION = Connection(server=SERVER, ca=CA)


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(version="v1.34.4")
    cluster.put(f"{SYSTEM}/services/kube-dns", {"spec": {"clusterIP": "10.96.0.10"}})
    return cluster


def test_a_node_reads_it_as_its_configuration(cluster: FakeCluster, tmp_path: Path) -> None:
    networking = "networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12, dnsDomain: example.org}"
    cluster.put(f"{SYSTEM}/configmaps/kubeadm-config", {"data": {"ClusterConfiguration": networking}})
    made = make_node_config(cluster, CONNECTION, server="", token=TOKEN, clock=FakeClock(), progress=Silent())
    assert made.missing == ()
    path = tmp_path / "config.json"
    path.touch(0o600)
    path.write_text(json.dumps(made.document))
    spec = load_config(path, image=tmp_path / "none").spec
    assert (spec.cluster.server, spec.cluster.ca.strip()) == (SERVER, CA.strip())
    assert (spec.cluster.dns_service_ip, spec.cluster.domain) == ("10.96.0.10", "example.org")
    assert (spec.cluster.service_cidr, spec.cluster.pod_cidr) == ("10.96.0.0/12", "10.244.0.0/16")
    assert spec.machine.versions.kubernetes == "1.34"
    assert spec.credentials.bootstrap_token == TOKEN


def test_what_could_not_be_found_out_is_left_out_and_named(cluster: FakeCluster) -> None:
    cluster.remove(f"{SYSTEM}/services/kube-dns")
    cluster.version = "weekly"
    made = make_node_config(
        cluster, Connection(server=SERVER), server="", token=None, clock=FakeClock(), progress=Silent()
    )
    assert made.document == {
        "apiVersion": "flexnode.io/v1",
        "kind": "NodeConfig",
        "cluster": {"server": SERVER},
    }
    assert [each.partition(":")[0] for each in made.missing] == [
        "cluster.ca",
        "cluster.dnsServiceIP",
        "auth.bootstrapToken",
    ]


def test_a_kubeconfig_without_a_ca_takes_the_one_that_pods_trust(cluster: FakeCluster) -> None:
    cluster.put(f"{SYSTEM}/configmaps/kube-root-ca.crt", {"data": {"ca.crt": CA}})
    made = make_node_config(
        cluster, Connection(server=SERVER), server="", token=TOKEN, clock=FakeClock(), progress=Silent()
    )
    assert made.document["cluster"]["ca"] == CA


@pytest.mark.parametrize(
    "server",
    ["https://localhost:6443", "https://127.0.0.1:6443", "https://[::1]:6443", "https://a.localhost"],
)
def test_an_address_that_only_this_machine_reaches_is_refused(cluster: FakeCluster, server: str) -> None:
    with pytest.raises(FlexError) as caught:
        make_node_config(
            cluster,
            Connection(server=server, ca=CA),
            server="",
            token=TOKEN,
            clock=FakeClock(),
            progress=Silent(),
        )
    assert "--server" in caught.value.hint
    assert cluster.requests == []


def test_the_address_for_nodes_can_be_named(cluster: FakeCluster) -> None:
    connection = Connection(server="https://localhost:6443", ca=CA)
    made = make_node_config(
        cluster, connection, server=SERVER, token=TOKEN, clock=FakeClock(), progress=Silent()
    )
    assert made.document["cluster"]["server"] == SERVER


def test_a_token_comes_in_late_and_is_no_longer_missed(cluster: FakeCluster) -> None:
    made = make_node_config(cluster, CONNECTION, server="", token=None, clock=FakeClock(), progress=Silent())
    assert len(made.missing) == 1
    whole = made.with_token(TOKEN)
    assert whole.missing == ()
    assert whole.document["auth"] == {"bootstrapToken": TOKEN.reveal()}
    assert "auth" not in made.document


@pytest.mark.parametrize(("host", "answer"), [("10.0.0.1", False), ("api.example.com", False), ("::1", True)])
def test_the_machine_itself_is_told_from_others(host: str, answer: bool) -> None:
    assert is_loopback(host) is answer
