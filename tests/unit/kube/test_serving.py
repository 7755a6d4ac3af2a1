"""Who gets a serving certificate: a wrong approval hands a machine's name to somebody else."""

from __future__ import annotations

import base64
from ipaddress import ip_address
from typing import Any

import pytest
from cryptography import x509

from flexnode.clock import FakeClock
from flexnode.errors import KubeError
from flexnode.kube.certificates import (
    CSRS,
    SERVING_SIGNER,
    Csr,
    CsrState,
    approve_csr,
    find_csr,
    list_csrs,
    view_csr,
)
from flexnode.kube.fake import FakeCluster
from flexnode.kube.nodes import NODES, Node, find_node
from flexnode.kube.serving import find_flaw, node_of
from unit.kube import samples


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster()
    cluster.put(f"{NODES}/edge1", samples.node())
    cluster.put(f"{NODES}/edge2", samples.node("edge2", "10.200.0.21"))
    return cluster


def judge(cluster: FakeCluster, document: dict[str, Any]) -> str | None:
    csr = view_csr(document)
    name = node_of(csr)
    return find_flaw(csr, find_node(cluster, name) if name else None)


IN_ORDER = {
    "as-kubelet-asks": samples.csr(),
    "rsa-keys-encipher": samples.csr(usages=["digital signature", "key encipherment", "server auth"]),
    "address-only": samples.csr(names=(x509.IPAddress(ip_address("10.200.0.20")),)),
    "name-in-capitals": samples.csr(names=(x509.DNSName("EDGE1"),)),
}


@pytest.mark.parametrize("name", IN_ORDER)
def test_a_node_gets_a_certificate_over_its_own_names(cluster: FakeCluster, name: str) -> None:
    assert judge(cluster, IN_ORDER[name]) is None


FLAWED = {
    "another-node's-subject": (samples.csr(subject=("system:node:edge2",)), "not its requester"),
    "another-node's-name": (samples.csr(names=(x509.DNSName("edge2"),)), "edge2 is not an address"),
    "another-node's-address": (
        samples.csr(names=(x509.IPAddress(ip_address("10.200.0.21")),)),
        "10.200.0.21 is not an address",
    ),
    "an-address-as-a-name": (samples.csr(names=(x509.DNSName("10.200.0.20"),)), "is not an address"),
    "one-name-too-many": (
        samples.csr(names=(*samples.default_names(), x509.DNSName("kubernetes.default.svc"))),
        "kubernetes.default.svc",
    ),
    "a-mail-address": (
        samples.csr(names=(x509.DNSName("edge1"), x509.RFC822Name("a@b.c"))),
        "neither DNS names nor addresses",
    ),
    "a-uri": (
        samples.csr(names=(x509.DNSName("edge1"), x509.UniformResourceIdentifier("spiffe://x"))),
        "neither DNS names nor addresses",
    ),
    "no-name": (samples.csr(names=()), "no name at all"),
    "a-wildcard": (samples.csr(names=(x509.DNSName("*"),)), "is not an address"),
    "no-such-node": (samples.csr(node="stranger"), "no node stranger"),
    "a-user": (samples.csr(username="edge1"), "is not a node"),
    "a-user-with-a-prefix": (samples.csr(username="system:node:"), "is not a node"),
    "not-in-the-group": (samples.csr(groups=["system:authenticated"]), "is not a node"),
    "client-usages": (samples.csr(usages=["digital signature", "client auth"]), "client auth"),
    "client-usages-too": (
        samples.csr(usages=["digital signature", "server auth", "client auth"]),
        "client auth",
    ),
    "no-usages": (samples.csr(usages=[]), "none"),
    "another-signer": (samples.csr(signerName="kubernetes.io/kube-apiserver-client"), "signer"),
    "a-second-group-in-the-subject": (
        samples.csr(organizations=("system:nodes", "system:masters")),
        "system:masters",
    ),
    "no-group-in-the-subject": (samples.csr(organizations=()), "subject"),
    "two-names-in-the-subject": (samples.csr(subject=("system:node:edge1", "system:node:edge2")), "subject"),
    "noise": (samples.csr(request=base64.b64encode(b"nonsense").decode()), "cannot be read"),
}


@pytest.mark.parametrize("name", FLAWED)
def test_nobody_gets_a_certificate_over_anything_else(cluster: FakeCluster, name: str) -> None:
    document, reason = FLAWED[name]
    flaw = judge(cluster, document)
    assert flaw is not None
    assert reason in flaw


def test_a_request_is_judged_by_its_own_node_only() -> None:
    wrong = Node(name="edge2", addresses=("10.200.0.20", "edge1"))
    assert find_flaw(view_csr(samples.csr()), wrong) is not None


class TestRequests:
    @pytest.mark.parametrize(
        ("document", "state"),
        [
            (samples.csr(), CsrState.PENDING),
            (samples.csr(conditions=("Approved",)), CsrState.APPROVED),
            (samples.csr(conditions=("Approved",), certificate="Q0VSVA=="), CsrState.ISSUED),
            (samples.csr(conditions=("Denied",)), CsrState.DENIED),
            (samples.csr(conditions=("Approved", "Failed")), CsrState.FAILED),
            ({**samples.csr(), "status": {}}, CsrState.PENDING),
        ],
    )
    def test_where_a_request_stands(self, document: dict[str, Any], state: CsrState) -> None:
        assert view_csr(document).state is state

    def test_why_it_was_denied_is_known(self) -> None:
        assert view_csr(samples.csr(conditions=("Denied",))).reason == "R"

    def test_only_those_of_the_signer_are_listed(self, cluster: FakeCluster) -> None:
        cluster.put(f"{CSRS}/csr-1", samples.csr())
        cluster.put(f"{CSRS}/csr-2", samples.csr("csr-2", signerName="other"))
        listed, version = list_csrs(cluster, SERVING_SIGNER)
        assert [csr.name for csr in listed] == ["csr-1"]
        assert version
        assert len(list_csrs(cluster)[0]) == 2

    def test_approving_adds_a_condition_and_keeps_the_rest(self, cluster: FakeCluster) -> None:
        cluster.put(f"{CSRS}/csr-1", samples.csr())
        csr = find_csr(cluster, "csr-1")
        assert csr is not None
        approved = approve_csr(cluster, csr, reason="R", message="M", clock=FakeClock())
        assert approved.state is CsrState.APPROVED
        assert cluster.requests[-1].path == f"{CSRS}/csr-1/approval"
        stored = cluster.get(f"{CSRS}/csr-1")
        assert stored is not None
        assert stored["spec"] == samples_spec(csr)
        assert stored["status"]["conditions"][0]["lastUpdateTime"] == "2026-01-01T00:00:00Z"

    def test_a_request_that_was_swapped_after_it_was_judged_is_not_approved(
        self, cluster: FakeCluster
    ) -> None:
        cluster.put(f"{CSRS}/csr-1", samples.csr())
        judged = find_csr(cluster, "csr-1")
        assert judged is not None
        cluster.put(f"{CSRS}/csr-1", samples.csr(names=(x509.DNSName("kubernetes"),)))
        with pytest.raises(KubeError) as caught:
            approve_csr(cluster, judged, reason="R", message="M", clock=FakeClock())
        assert caught.value.code == "kube/conflict"
        swapped = find_csr(cluster, "csr-1")
        assert swapped is not None
        assert swapped.state is CsrState.PENDING


def samples_spec(csr: Csr) -> Any:
    return csr.document["spec"]
