"""An approver that runs beside a cluster: quick, patient, and it says each thing once."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography import x509

from flexnode.clock import FakeClock
from flexnode.errors import KubeError
from flexnode.flows.cluster_approval import Approver, Decision
from flexnode.kube.approval import find_approval
from flexnode.kube.certificates import CSRS, CsrState, find_csr
from flexnode.kube.fake import FakeCluster
from flexnode.kube.nodes import NODES
from flexnode.kube.request import Request
from unit.kube import samples


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster(clock=FakeClock())
    cluster.put(f"{NODES}/edge1", samples.node())
    return cluster


def approver(cluster: FakeCluster, told: list[Decision], troubles: list[KubeError] | None = None) -> Approver:
    heard = [] if troubles is None else troubles
    return Approver(api=cluster, clock=cluster.clock, tell=told.append, trouble=heard.append)


def state(cluster: FakeCluster, name: str) -> CsrState:
    found = find_csr(cluster, name)
    assert found is not None
    return found.state


def lay(cluster: FakeCluster, name: str, **parts: Any) -> None:
    cluster.put(f"{CSRS}/{name}", samples.csr(name, **parts))


def test_what_is_in_order_is_approved_and_the_rest_stays_open_with_a_reason(cluster: FakeCluster) -> None:
    lay(cluster, "good")
    lay(cluster, "bad", names=(x509.DNSName("elsewhere"),))
    lay(cluster, "strange", username="somebody", node="edge1")
    told: list[Decision] = []
    review = approver(cluster, told).review()
    assert {each.request: each.approved for each in review.decisions} == {
        "good": True,
        "bad": False,
        "strange": False,
    }
    assert [each.request for each in review.refused] == ["bad", "strange"]
    assert "elsewhere" in review.refused[0].flaw
    assert (state(cluster, "good"), state(cluster, "bad")) == (CsrState.APPROVED, CsrState.PENDING)
    assert list(review.decisions) == told


@pytest.mark.parametrize("condition", ["Approved", "Denied"])
def test_what_somebody_decided_is_left_alone(cluster: FakeCluster, condition: str) -> None:
    lay(cluster, "decided", conditions=(condition,))
    assert approver(cluster, []).review().decisions == ()
    assert all(request.method == "GET" for request in cluster.requests)


def test_a_request_that_somebody_decides_in_the_same_moment_is_passed_over(cluster: FakeCluster) -> None:
    lay(cluster, "good")

    def before(request: Request) -> None:
        if request.method == "PUT":
            raise cluster.refuse(409, "modified", reason="Conflict")

    cluster.before = before
    assert approver(cluster, []).review().decisions == ()


def test_a_node_is_read_once_for_all_its_requests(cluster: FakeCluster) -> None:
    lay(cluster, "one")
    lay(cluster, "two")
    approver(cluster, []).review()
    assert [request.path for request in cluster.requests].count(f"{NODES}/edge1") == 1


class TestWatching:
    def test_nodes_see_that_somebody_approves_for_as_long_as_somebody_does(
        self, cluster: FakeCluster
    ) -> None:
        seen: list[bool | None] = []

        def before(request: Request) -> None:
            if request.path == CSRS and "watch" in dict(request.query):
                cluster.before = lambda _request: None
                seen.append(find_approval(cluster, cluster.clock).found)
                cluster.before = before

        cluster.before = before
        approver(cluster, []).run(seconds=900)
        assert len(seen) > 10
        assert all(seen)
        assert find_approval(cluster, cluster.clock).found is None

    def test_one_that_may_not_say_so_approves_all_the_same(self, cluster: FakeCluster) -> None:
        lay(cluster, "good")

        def before(request: Request) -> None:
            if request.method == "PATCH":
                raise cluster.refuse(403, "no roles here", reason="Forbidden")

        cluster.before = before
        told: list[Decision] = []
        troubles: list[KubeError] = []
        approver(cluster, told, troubles).run(seconds=300)
        assert [each.approved for each in told] == [True]
        assert len(troubles) == 1

    def test_requests_are_approved_as_they_come_and_told_once(self, cluster: FakeCluster) -> None:
        lay(cluster, "bad", names=(x509.DNSName("elsewhere"),))
        looks = 0

        def before(request: Request) -> None:
            nonlocal looks
            looks += request.method == "GET" and request.path == CSRS and "watch" not in dict(request.query)
            if looks == 3:
                lay(cluster, "late")
                looks += 1

        cluster.before = before
        told: list[Decision] = []
        review = approver(cluster, told).run(seconds=30)
        assert [(each.request, each.approved) for each in told] == [("bad", False), ("late", True)]
        assert [each.request for each in review.refused] == ["bad"]

    def test_a_refused_request_is_approved_once_its_node_has_the_address(self, cluster: FakeCluster) -> None:
        cluster.put(f"{NODES}/edge1", samples.node(status={}))
        lay(cluster, "early")
        looks = 0

        def before(request: Request) -> None:
            nonlocal looks
            looks += request.path == f"{NODES}/edge1"
            if looks == 2:
                cluster.put(f"{NODES}/edge1", samples.node())

        cluster.before = before
        told: list[Decision] = []
        approver(cluster, told).run(seconds=30)
        assert [each.approved for each in told] == [False, True]

    def test_a_server_that_ends_every_watch_at_once_is_not_asked_in_a_circle(
        self, cluster: FakeCluster
    ) -> None:
        approver(cluster, []).run(seconds=30)
        assert len([each for each in cluster.requests if each.path == CSRS]) <= 2 * 31

    def test_an_api_server_that_goes_away_is_waited_for(self, cluster: FakeCluster) -> None:
        lay(cluster, "good")
        troubles: list[KubeError] = []

        def before(_request: Request) -> None:
            if len(cluster.requests) < 4:
                raise cluster.refuse(503, "starting")

        cluster.before = before
        told: list[Decision] = []
        approver(cluster, told, troubles).run(seconds=60)
        assert [each.request for each in told] == ["good"]
        assert [error.code for error in troubles] == ["kube/server-error"] * 3

    def test_an_api_server_that_never_came_is_the_outcome(self, cluster: FakeCluster) -> None:
        def before(_request: Request) -> None:
            raise cluster.refuse(503, "starting")

        cluster.before = before
        with pytest.raises(KubeError) as caught:
            approver(cluster, []).run(seconds=10)
        assert caught.value.transient

    def test_what_will_not_pass_ends_it(self, cluster: FakeCluster) -> None:
        def before(_request: Request) -> None:
            raise cluster.refuse(403, "not you")

        cluster.before = before
        with pytest.raises(KubeError) as caught:
            approver(cluster, []).run(seconds=None)
        assert caught.value.code == "kube/forbidden"
