"""What is read from a Node and changed on it, and that nothing of others' is touched."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from flexnode.clock import FakeClock
from flexnode.errors import FlexError, KubeError
from flexnode.kube.events import MAX_MESSAGE, Severity, record_event
from flexnode.kube.fake import FakeCluster
from flexnode.kube.leases import NODE_LEASES, find_node_lease
from flexnode.kube.nodes import (
    NODES,
    cordon,
    delete_node,
    find_node,
    list_nodes,
    mark_node,
    require_node,
    set_condition,
    uncordon,
)
from flexnode.kube.request import Content, Request, object_path
from unit.kube import samples

PATH = f"{NODES}/edge1"


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster()
    cluster.put(PATH, samples.node())
    return cluster


def test_a_node_is_read_with_what_decisions_hang_on(cluster: FakeCluster) -> None:
    node = require_node(cluster, "edge1")
    assert (node.name, node.uid, node.is_ready, node.unschedulable) == ("edge1", "uid-edge1", True, False)
    assert node.ready is not None
    assert node.ready.last_transition_time == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
    assert node.kubelet_version == "v1.34.4"
    assert node.system_uuid == "0a0b0c0d-0000-0000-0000-000000000001"
    assert node.pod_cidrs == ("10.244.1.0/24",)
    assert node.addresses == ("10.200.0.20", "edge1")


def test_a_node_that_has_just_registered_is_read_as_well(cluster: FakeCluster) -> None:
    cluster.put(PATH, {"metadata": {"name": "edge1"}, "spec": {}, "status": {"conditions": None}})
    node = require_node(cluster, "edge1")
    assert (node.ready, node.is_ready, node.pod_cidrs, node.addresses) == (None, False, (), ())


def test_a_name_that_is_free_is_none_and_not_a_failure(cluster: FakeCluster) -> None:
    assert find_node(cluster, "edge2") is None
    with pytest.raises(KubeError) as caught:
        require_node(cluster, "edge2")
    assert caught.value.code == "kube/not-found"


def test_that_a_node_may_not_be_read_is_not_taken_for_its_absence(cluster: FakeCluster) -> None:
    def forbid(_request: Request) -> None:
        raise cluster.refuse(403, "nodes is forbidden")

    cluster.before = forbid
    with pytest.raises(KubeError) as caught:
        find_node(cluster, "edge2")
    assert caught.value.code == "kube/forbidden"


def test_cordon_and_uncordon_leave_the_rest_of_the_node_alone(cluster: FakeCluster) -> None:
    before = cluster.get(PATH)
    assert before is not None
    assert cordon(cluster, "edge1").unschedulable
    assert not uncordon(cluster, "edge1").unschedulable
    after = cluster.get(PATH)
    assert after is not None
    assert after["spec"] == before["spec"]
    assert after["status"] == before["status"]
    assert [request.content for request in cluster.requests] == [Content.MERGE, Content.MERGE]


def test_labels_and_annotations_are_set_and_taken_away_one_by_one(cluster: FakeCluster) -> None:
    mark_node(cluster, "edge1", labels={"flexnode.io/a": "1"}, annotations={"flexnode.io/b": "2"})
    node = mark_node(cluster, "edge1", labels={"flexnode.io/a": None})
    assert node.labels == {"kubernetes.io/hostname": "edge1"}
    assert node.annotations == {"flexnode.io/b": "2"}


def test_a_condition_is_added_and_kubelet_s_own_stay(cluster: FakeCluster) -> None:
    clock = FakeClock()

    def say(status: str) -> None:
        node = require_node(cluster, "edge1")
        set_condition(
            cluster, node, kind="FlexNodeHealthy", status=status, reason="R", message="m", clock=clock
        )

    say("True")
    clock.sleep(60)
    say("True")
    node = require_node(cluster, "edge1")
    assert node.is_ready
    condition = node.conditions["FlexNodeHealthy"]
    assert condition.last_heartbeat_time == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
    assert condition.last_transition_time == datetime(2026, 1, 1, tzinfo=UTC)
    say("False")
    changed = require_node(cluster, "edge1").conditions["FlexNodeHealthy"]
    assert changed.last_transition_time == datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
    assert cluster.requests[1].path == f"{PATH}/status"


class TestDelete:
    def test_the_node_is_gone_and_gone_is_done(self, cluster: FakeCluster) -> None:
        delete_node(cluster, "edge1")
        assert cluster.get(PATH) is None
        delete_node(cluster, "edge1")

    def test_a_node_that_another_machine_made_under_the_name_stays(self, cluster: FakeCluster) -> None:
        delete_node(cluster, "edge1", uid="uid-of-before")
        assert cluster.get(PATH) is not None

    def test_a_refusal_is_a_failure(self, cluster: FakeCluster) -> None:
        def forbid(_request: Request) -> None:
            raise cluster.refuse(403, "not yours")

        cluster.before = forbid
        with pytest.raises(KubeError) as caught:
            delete_node(cluster, "edge1", uid="uid-edge1")
        assert caught.value.code == "kube/forbidden"


def test_all_nodes_are_listed(cluster: FakeCluster) -> None:
    cluster.put(f"{NODES}/edge2", samples.node("edge2"))
    assert [node.name for node in list_nodes(cluster)] == ["edge1", "edge2"]


def test_a_heartbeat_is_read_with_its_moment(cluster: FakeCluster) -> None:
    assert find_node_lease(cluster, "edge1") is None
    spec = {
        "holderIdentity": "edge1",
        "leaseDurationSeconds": 40,
        "renewTime": "2026-01-01T00:00:07.123456Z",
    }
    cluster.put(f"{NODE_LEASES}/edge1", {"spec": spec})
    lease = find_node_lease(cluster, "edge1")
    assert lease is not None
    assert lease.renewed == datetime(2026, 1, 1, 0, 0, 7, 123456, tzinfo=UTC)
    assert (lease.holder, lease.duration) == ("edge1", 40)


def test_an_event_is_shown_at_its_node_and_fits(cluster: FakeCluster) -> None:
    node = require_node(cluster, "edge1")
    record_event(
        cluster,
        node,
        reason="Drained",
        message="x" * 5000,
        clock=FakeClock(),
        severity=Severity.WARNING,
    )
    request = cluster.requests[-1]
    assert request.path == "/api/v1/namespaces/default/events"
    event = msgspec.json.decode(request.body or b"")
    assert event["involvedObject"]["name"] == "edge1"
    assert event["involvedObject"]["uid"] == "uid-edge1"
    assert (event["type"], event["reason"], len(event["message"])) == ("Warning", "Drained", MAX_MESSAGE)


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_lead_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(FlexError) as caught:
        object_path(NODES, name)
    assert caught.value.code == "kube/bad-name"


def test_a_name_stays_one_segment_of_the_path() -> None:
    assert object_path(NODES, "a/b?c:d") == f"{NODES}/a%2Fb%3Fc%3Ad"
