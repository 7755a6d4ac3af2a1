"""What nobody configured is asked of the cluster, and of nobody who cannot prove to be it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from flexnode.clock import FakeClock
from flexnode.errors import KubeError
from flexnode.flows.cluster_facts import choose_kubernetes, connect, detect, make_proxies, settle_serving
from flexnode.kube import Code, Request
from flexnode.kube.discovery import ServerVersion
from flexnode.kube.facts import ClusterFacts, ServiceProxy
from flexnode.kube.failures import failure
from flexnode.model.credentials import Credentials
from flexnode.model.machine import MachineSpec, Proxy
from flexnode.model.spec import ClusterSpec, KubeletSpec, NodeSpec, ServingCertificates
from flexnode.secret import Secret

KNOWN = ("1.34", "1.35", "1.36")
SYSTEM = "/api/v1/namespaces/kube-system"
CLUSTER = {
    "/version": {"gitVersion": "v1.35.2"},
    f"{SYSTEM}/services/kube-dns": {"spec": {"clusterIP": "10.96.0.10"}},
    "/apis/networking.k8s.io/v1/servicecidrs/kubernetes": {"spec": {"cidrs": ["10.96.0.0/12"]}},
    f"{SYSTEM}/configmaps/kubeadm-config": {
        "data": {"ClusterConfiguration": "networking:\n  podSubnet: 10.244.0.0/16\n  dnsDomain: corp.local\n"}
    },
    "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy": {},
    "/apis/certificates.k8s.io/v1/certificatesigningrequests": {"metadata": {}, "items": []},
}


class FakeApi:
    """Answers by path; `default` for every other."""

    def __init__(self, answers: Mapping[str, Any], default: Code = Code.NOT_FOUND) -> None:
        self._answers = answers
        self._default = default

    def send(self, request: Request) -> bytes:
        if request.path not in self._answers:
            raise failure(self._default, "so the server says")
        return json.dumps(self._answers[request.path]).encode()

    def stream(self, request: Request) -> Any:
        raise AssertionError("nothing is watched here")


def test_a_cluster_that_may_be_read_tells_everything() -> None:
    detected = detect(FakeApi(CLUSTER), FakeClock(), known=KNOWN, hostname="Node-1")
    assert detected.settings == {
        "versions.kubernetes": "1.35",
        "cluster.dnsServiceIP": "10.96.0.10",
        "cluster.domain": "corp.local",
        "cluster.serviceCIDR": "10.96.0.0/12",
        "cluster.podCIDR": "10.244.0.0/16",
        "node.name": "node-1",
    }
    assert detected.facts.service_proxy is ServiceProxy.KUBE_PROXY


def test_a_cluster_that_may_not_be_read_leaves_everything_open() -> None:
    detected = detect(FakeApi({}, default=Code.FORBIDDEN), FakeClock(), known=KNOWN)
    assert detected.settings == {}
    assert detected.facts.service_proxy is None


def test_a_cluster_that_cannot_be_asked_is_no_cluster_without_facts() -> None:
    """Taken for empty, it would give the node another configuration at each of its hiccups."""
    with pytest.raises(KubeError) as caught:
        detect(FakeApi({}, default=Code.TIMEOUT), FakeClock(), known=KNOWN)
    assert caught.value.transient


@pytest.mark.parametrize(
    ("server", "chosen"),
    [
        ("v1.34.9", "1.34"),
        ("v1.36.0", "1.36"),
        ("v1.37.1", "1.36"),
        ("v1.33.5-eks-1", None),
        ("nonsense", None),
    ],
)
def test_the_newest_kubelet_that_is_not_newer_than_the_api_server(server: str, chosen: str | None) -> None:
    assert choose_kubernetes(ServerVersion(git_version=server), KNOWN) == chosen


def test_minor_versions_are_numbers() -> None:
    assert choose_kubernetes(ServerVersion(git_version="v1.10.0"), ["1.9", "1.10"]) == "1.10"


@pytest.mark.parametrize(
    ("wish", "approves", "settled"),
    [
        (ServingCertificates.AUTO, True, ServingCertificates.ON),
        (ServingCertificates.AUTO, False, ServingCertificates.OFF),
        (ServingCertificates.AUTO, None, ServingCertificates.OFF),
        (ServingCertificates.ON, False, ServingCertificates.ON),
        (ServingCertificates.OFF, True, ServingCertificates.OFF),
    ],
)
def test_serving_certificates_are_asked_for_only_where_they_come(
    wish: ServingCertificates, approves: bool | None, settled: ServingCertificates
) -> None:
    """A kubelet that waits for a certificate which nobody approves answers neither logs nor exec."""
    spec = NodeSpec(kubelet=KubeletSpec(serving_certificates=wish))
    assert (
        settle_serving(spec, ClusterFacts(approves_serving=approves)).kubelet.serving_certificates is settled
    )


SPEC = NodeSpec(
    cluster=ClusterSpec(server="https://127.0.0.1:9", ca="-----BEGIN CERTIFICATE-----"),
    credentials=Credentials(bootstrap_token=Secret("abcdef.0123456789abcdef")),
)


def test_nothing_is_asked_of_a_server_whose_ca_nothing_proves() -> None:
    spec = replace(SPEC, cluster=replace(SPEC.cluster, ca=""), credentials=Credentials())
    with pytest.raises(KubeError) as caught:
        connect(spec, clock=FakeClock())
    assert caught.value.code == Code.CA_UNVERIFIED


def test_no_server_is_said_so() -> None:
    with pytest.raises(KubeError) as caught:
        connect(NodeSpec(), clock=FakeClock())
    assert caught.value.code == Code.BAD_SERVER
    assert "cluster.server" in caught.value.hint


def proxy_towards(server: str, **proxy: Any) -> Secret | None:
    machine = MachineSpec(proxy=Proxy(**proxy))
    spec = replace(SPEC, machine=machine, cluster=replace(SPEC.cluster, server=server))
    return connect(spec, clock=FakeClock())._connection.proxy


def test_a_proxy_leads_to_the_cluster_only_where_it_is_not_exempt() -> None:
    far, https = "https://api.cluster.example", "http://proxy.example:3128"
    assert proxy_towards(far, https=https) == Secret(https)
    assert proxy_towards(far, http=https) is None
    assert proxy_towards(far, https=https, no_proxy=(".cluster.example",)) is None


def test_a_proxy_with_a_password_is_taken_from_the_credentials() -> None:
    secret = Secret("http://user:password@proxy.example:3128")
    spec = replace(SPEC, credentials=Credentials(https_proxy=secret))
    proxies = make_proxies(spec)
    assert str(proxies.https) == "http://proxy.example:3128"
    assert proxies.https is not None
    assert proxies.https.url == secret
