"""What a node finds out about its cluster: the truth, or nothing, and never a guess."""

from __future__ import annotations

import json

import pytest

from flexnode.errors import KubeError
from flexnode.kube.discovery import SELF_REVIEWS, identify, is_ready, read_version
from flexnode.kube.facts import (
    DAEMONSETS,
    SERVICE_CIDR,
    SYSTEM,
    ClusterFacts,
    ServiceProxy,
    detect_cluster,
)
from flexnode.kube.fake import FakeCluster
from flexnode.kube.request import Request
from unit.kube import samples

KUBEADM = """
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
networking:
  dnsDomain: example.internal
  podSubnet: 10.244.0.0/16
  serviceSubnet: 10.96.0.0/12
"""
KUBELET = """
kind: KubeletConfiguration
clusterDNS: [10.96.0.10]
clusterDomain: example.internal
"""


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


def config_map(cluster: FakeCluster, name: str, **data: str) -> None:
    cluster.put(f"{SYSTEM}/configmaps/{name}", {"data": data})


def forbid(cluster: FakeCluster, *words: str, code: int = 403) -> None:
    def before(request: Request) -> None:
        if any(word in request.path for word in words):
            raise cluster.refuse(code, "no")

    cluster.before = before


def test_a_cluster_made_by_kubeadm_tells_everything(cluster: FakeCluster) -> None:
    config_map(cluster, "kubeadm-config", ClusterConfiguration=KUBEADM)
    config_map(cluster, "kubelet-config", kubelet=KUBELET)
    cluster.put(f"{SYSTEM}/services/kube-dns", {"spec": {"clusterIP": "10.96.0.10"}})
    cluster.put(f"{DAEMONSETS}/kube-proxy", {"spec": {}})
    assert detect_cluster(cluster, cluster.clock) == ClusterFacts(
        dns_service_ip="10.96.0.10",
        domain="example.internal",
        service_cidr="10.96.0.0/12",
        pod_cidr="10.244.0.0/16",
        service_proxy=ServiceProxy.KUBE_PROXY,
        approves_serving=None,
    )


def test_a_cluster_that_publishes_nothing_gives_nothing(cluster: FakeCluster) -> None:
    assert detect_cluster(cluster, cluster.clock) == ClusterFacts(service_proxy=ServiceProxy.NONE)


@pytest.mark.parametrize("code", [401, 403])
def test_a_cluster_that_lets_us_read_nothing_leaves_everything_unknown(
    cluster: FakeCluster, code: int
) -> None:
    """Forbidden is not absent: a node that took it for that would switch things on or off by mistake."""
    forbid(cluster, "/", code=code)
    assert detect_cluster(cluster, cluster.clock) == ClusterFacts()


def test_one_thing_that_may_not_be_read_hides_no_other(cluster: FakeCluster) -> None:
    config_map(cluster, "kubelet-config", kubelet=KUBELET)
    cluster.put(SERVICE_CIDR, {"spec": {"cidrs": ["10.0.0.0/16", "fd00::/108"]}})
    forbid(cluster, "services/kube-dns", "kubeadm-config", "daemonsets")
    found = detect_cluster(cluster, cluster.clock)
    assert found.dns_service_ip == "10.96.0.10"
    assert found.service_cidr == "10.0.0.0/16,fd00::/108"
    assert (found.pod_cidr, found.service_proxy) == (None, None)


def test_a_failure_that_may_pass_is_not_taken_for_absence(cluster: FakeCluster) -> None:
    forbid(cluster, "kube-dns", code=503)
    with pytest.raises(KubeError) as caught:
        detect_cluster(cluster, cluster.clock)
    assert caught.value.transient


@pytest.mark.parametrize(
    ("address", "found"), [("10.0.0.10", "10.0.0.10"), ("None", None), ("", None), ("fd00::a", "fd00::a")]
)
def test_a_headless_dns_service_has_no_address(cluster: FakeCluster, address: str, found: str | None) -> None:
    cluster.put(f"{SYSTEM}/services/kube-dns", {"spec": {"clusterIP": address}})
    assert detect_cluster(cluster, cluster.clock).dns_service_ip == found


class TestServices:
    @pytest.mark.parametrize("value", ["true", "strict", "True"])
    def test_cilium_in_place_of_kube_proxy_is_seen(self, cluster: FakeCluster, value: str) -> None:
        config_map(cluster, "cilium-config", **{"kube-proxy-replacement": value})
        assert detect_cluster(cluster, cluster.clock).service_proxy is ServiceProxy.CILIUM

    def test_cilium_beside_kube_proxy_is_no_replacement(self, cluster: FakeCluster) -> None:
        config_map(cluster, "cilium-config", **{"kube-proxy-replacement": "false"})
        cluster.put(f"{DAEMONSETS}/kube-proxy", {})
        assert detect_cluster(cluster, cluster.clock).service_proxy is ServiceProxy.KUBE_PROXY

    @pytest.mark.parametrize("key", ["config.conf", "config.json"])
    def test_kube_proxy_s_own_settings_tell_the_pod_network(self, cluster: FakeCluster, key: str) -> None:
        config_map(cluster, "kube-proxy", **{key: json.dumps({"clusterCIDR": "10.244.0.0/16"})})
        assert detect_cluster(cluster, cluster.clock).pod_cidr == "10.244.0.0/16"


class TestApprover:
    CSR = "/apis/certificates.k8s.io/v1/certificatesigningrequests/csr-1"

    @pytest.mark.parametrize(
        ("conditions", "found"), [((), False), (("Approved",), True), (("Denied",), False)]
    )
    def test_other_nodes_requests_show_whether_somebody_approves(
        self, cluster: FakeCluster, conditions: tuple[str, ...], found: bool
    ) -> None:
        cluster.put(self.CSR, samples.csr(conditions=conditions))
        assert detect_cluster(cluster, cluster.clock).approves_serving is found

    def test_requests_for_other_signers_show_nothing(self, cluster: FakeCluster) -> None:
        cluster.put(self.CSR, samples.csr(signerName="other", conditions=("Approved",)))
        assert detect_cluster(cluster, cluster.clock).approves_serving is None


@pytest.mark.parametrize("text", ["", "]", "- a", "networking: 3", "networking: {podSubnet: [1]}", "\x00"])
def test_an_odd_document_inside_a_config_map_tells_nothing(cluster: FakeCluster, text: str) -> None:
    config_map(cluster, "kubeadm-config", ClusterConfiguration=text)
    config_map(cluster, "kubelet-config", kubelet=text)
    assert detect_cluster(cluster, cluster.clock) == ClusterFacts(service_proxy=ServiceProxy.NONE)


class TestServer:
    @pytest.mark.parametrize(
        ("text", "minor"),
        [("v1.34.4", (1, 34)), ("v1.33.2-eks-abc", (1, 33)), ("v1.36.0+k3s1", (1, 36)), ("weekly", (0, 0))],
    )
    def test_versions_of_all_vendors_have_a_minor(
        self, cluster: FakeCluster, text: str, minor: tuple[int, int]
    ) -> None:
        cluster.version = text
        assert read_version(cluster).minor == minor

    @pytest.mark.parametrize(("code", "ready"), [(0, True), (401, True), (403, True), (500, False)])
    def test_a_server_that_answers_at_all_has_been_reached(
        self, cluster: FakeCluster, code: int, ready: bool
    ) -> None:
        if code:
            forbid(cluster, "/readyz", code=code)
        assert is_ready(cluster) is ready

    def test_something_else_that_answers_is_not_a_server(self, cluster: FakeCluster) -> None:
        forbid(cluster, "/readyz", code=404)
        with pytest.raises(KubeError):
            is_ready(cluster)

    def test_we_learn_as_whom_we_are_known(self, cluster: FakeCluster) -> None:
        cluster.user = {"username": "system:bootstrap:abcdef", "groups": ["a"]}
        found = identify(cluster)
        assert (found.username, found.groups) == ("system:bootstrap:abcdef", ("a",))
        assert (cluster.requests[0].method, cluster.requests[0].path) == ("POST", SELF_REVIEWS)

    @pytest.mark.parametrize("code", [401, 403])
    def test_a_stranger_is_told_so(self, cluster: FakeCluster, code: int) -> None:
        forbid(cluster, SELF_REVIEWS, code=code)
        with pytest.raises(KubeError) as caught:
            identify(cluster)
        assert caught.value.code == "kube/unauthorized"
