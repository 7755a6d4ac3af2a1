"""Which pods a drain may touch, and what the cluster makes of asking it to evict one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from flexnode.errors import KubeError
from flexnode.kube.fake import FakeCluster
from flexnode.kube.judgement import DrainPolicy, Fate, judge_pod, judge_pods
from flexnode.kube.pods import MIRROR, Eviction, Pod, evict, find_pod, is_gone, list_pods
from flexnode.kube.request import Request
from unit.kube import samples


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster()
    cluster.put(samples.pod_path(), samples.pod())
    return cluster


def the_pod(cluster: FakeCluster) -> Pod:
    found = find_pod(cluster, "default", "web-1")
    assert found is not None
    return found


def refusing(cluster: FakeCluster, method: str, code: int, **more: Any) -> None:
    def before(request: Request) -> None:
        if request.method == method:
            raise cluster.refuse(code, "refused", **more)

    cluster.before = before


EMPTY_DIR = {"name": "cache", "emptyDir": {}}
STRICT = DrainPolicy()


@pytest.mark.parametrize(
    ("pod", "policy", "fate", "reason"),
    [
        (samples.pod(), STRICT, Fate.EVICT, "ReplicaSet"),
        (samples.pod(owner="DaemonSet"), STRICT, Fate.LEAVE, "DaemonSet"),
        (samples.pod(owner="DaemonSet", volumes=[EMPTY_DIR]), STRICT, Fate.LEAVE, "DaemonSet"),
        (samples.pod(owner="Node", annotations={MIRROR: "hash"}), STRICT, Fate.LEAVE, "static"),
        (samples.pod(owner=""), STRICT, Fate.FORBID, "nothing would start it again"),
        (samples.pod(owner=""), DrainPolicy(evict_unmanaged=True), Fate.EVICT, "allowed"),
        (samples.pod(volumes=[EMPTY_DIR]), STRICT, Fate.FORBID, "emptyDir cache"),
        (samples.pod(volumes=[EMPTY_DIR]), DrainPolicy(delete_empty_dir_data=True), Fate.EVICT, ""),
        (samples.pod(owner="", volumes=[EMPTY_DIR]), DrainPolicy(evict_unmanaged=True), Fate.FORBID, "cache"),
        (samples.pod(owner="", volumes=[EMPTY_DIR], phase="Succeeded"), STRICT, Fate.EVICT, "finished"),
        (samples.pod(owner="", phase="Failed"), STRICT, Fate.EVICT, "finished"),
        (samples.pod(owner="Job", phase="Running"), STRICT, Fate.EVICT, "Job"),
        (samples.pod(volumes=[{"name": "c", "configMap": {}}]), STRICT, Fate.EVICT, ""),
    ],
)
def test_a_drain_decides_as_people_expect(
    cluster: FakeCluster, pod: dict[str, Any], policy: DrainPolicy, fate: Fate, reason: str
) -> None:
    cluster.put(samples.pod_path(), pod)
    verdict = judge_pod(the_pod(cluster), policy)
    assert verdict.fate is fate
    assert reason in verdict.reason


def test_everything_that_forbids_a_drain_is_told_at_once(cluster: FakeCluster) -> None:
    cluster.put(samples.pod_path(), samples.pod(owner="", volumes=[EMPTY_DIR]))
    reason = judge_pod(the_pod(cluster), STRICT).reason
    assert "nothing would start it again" in reason
    assert "emptyDir cache" in reason


def test_an_owner_that_does_not_control_the_pod_does_not_bring_it_back(cluster: FakeCluster) -> None:
    document = samples.pod()
    document["metadata"]["ownerReferences"][0]["controller"] = False
    cluster.put(samples.pod_path(), document)
    assert judge_pod(the_pod(cluster), STRICT).fate is Fate.FORBID


def test_only_the_node_s_pods_are_judged_in_order(cluster: FakeCluster) -> None:
    cluster.put(samples.pod_path("b", "apps"), samples.pod("b", "apps"))
    cluster.put(samples.pod_path("a", "apps"), samples.pod("a", "apps"))
    cluster.put(samples.pod_path("other"), samples.pod("other", node="edge2"))
    verdicts = judge_pods(list_pods(cluster, "edge1"), STRICT)
    assert [str(verdict.pod) for verdict in verdicts] == ["apps/a", "apps/b", "default/web-1"]


class TestEviction:
    def test_exactly_this_pod_is_asked_for_with_its_own_grace_period(self, cluster: FakeCluster) -> None:
        assert evict(cluster, the_pod(cluster)).result is Eviction.ACCEPTED
        request = cluster.requests[-1]
        assert (request.method, request.path) == ("POST", samples.pod_path() + "/eviction")
        body = msgspec.json.decode(request.body or b"")
        assert body["apiVersion"] == "policy/v1"
        assert body["deleteOptions"] == {"preconditions": {"uid": "uid-web-1"}}

    def test_a_grace_period_that_was_asked_for_is_sent(self, cluster: FakeCluster) -> None:
        evict(cluster, the_pod(cluster), grace_period=0)
        body = msgspec.json.decode(cluster.requests[-1].body or b"")
        assert body["deleteOptions"]["gracePeriodSeconds"] == 0

    def test_a_pod_that_is_gone_is_done(self, cluster: FakeCluster) -> None:
        pod = the_pod(cluster)
        cluster.remove(samples.pod_path())
        assert evict(cluster, pod).result is Eviction.GONE

    def test_a_pod_that_came_back_under_its_name_is_not_evicted_in_its_place(
        self, cluster: FakeCluster
    ) -> None:
        pod = the_pod(cluster)
        cluster.put(samples.pod_path(), samples.pod(uid="uid-of-the-next"))
        assert evict(cluster, pod).result is Eviction.GONE
        assert cluster.get(samples.pod_path()) is not None

    def test_a_budget_is_waited_for_and_named(self, cluster: FakeCluster) -> None:
        cluster.budgets["default/web-1"] = "web-budget"
        outcome = evict(cluster, the_pod(cluster))
        assert outcome.result is Eviction.BLOCKED
        assert "web-budget" in outcome.message

    @pytest.mark.parametrize(
        ("code", "cause"), [(429, ""), (403, "NamespaceTerminating"), (500, ""), (503, ""), (409, "")]
    )
    def test_what_may_pass_is_tried_again_later(self, cluster: FakeCluster, code: int, cause: str) -> None:
        pod = the_pod(cluster)
        refusing(cluster, "POST", code, cause=cause)
        outcome = evict(cluster, pod)
        assert outcome.result is Eviction.LATER
        assert outcome.message

    def test_what_will_not_pass_is_raised(self, cluster: FakeCluster) -> None:
        pod = the_pod(cluster)
        refusing(cluster, "POST", 403)
        with pytest.raises(KubeError) as caught:
            evict(cluster, pod)
        assert caught.value.code == "kube/forbidden"


class TestGone:
    def test_a_pod_is_there_until_it_is_gone(self, cluster: FakeCluster) -> None:
        pod = the_pod(cluster)
        assert not is_gone(cluster, pod)
        cluster.remove(samples.pod_path())
        assert is_gone(cluster, pod)

    def test_another_uid_is_another_pod(self, cluster: FakeCluster) -> None:
        pod = the_pod(cluster)
        cluster.put(samples.pod_path(), samples.pod(uid="uid-of-the-next"))
        assert is_gone(cluster, pod)

    def test_a_kubelet_that_may_not_read_it_any_more_has_lost_it(self, cluster: FakeCluster) -> None:
        """Since 1.32 a node may read only the pods that are on it."""
        pod = the_pod(cluster)
        refusing(cluster, "GET", 403)
        assert is_gone(cluster, pod)

    def test_a_server_in_trouble_proves_nothing(self, cluster: FakeCluster) -> None:
        pod = the_pod(cluster)
        refusing(cluster, "GET", 503)
        with pytest.raises(KubeError):
            is_gone(cluster, pod)
