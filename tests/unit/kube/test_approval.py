"""A node knows before its join whether its serving certificate will be approved, and by what that is seen."""

from __future__ import annotations

import pytest

from flexnode.clock import FakeClock
from flexnode.errors import KubeError
from flexnode.kube.approval import LASTS, SIGN, find_approval
from flexnode.kube.approver import announce, renew, withdraw
from flexnode.kube.fake import FakeCluster
from flexnode.kube.request import Request
from unit.kube import samples

CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cluster(clock: FakeClock) -> FakeCluster:
    return FakeCluster(clock=clock)


def test_on_a_fresh_cluster_an_approver_is_known_before_anybody_asked(
    cluster: FakeCluster, clock: FakeClock
) -> None:
    """Taken for none, it would leave the first nodes with certificates of their own for good."""
    assert find_approval(cluster, clock).found is None
    announce(cluster, "somebody", clock)
    found = find_approval(cluster, clock)
    assert (found.found, found.why) == (True, "somebody says so")


def test_whoever_may_join_may_see_it_on_a_cluster_that_nobody_set_up(
    cluster: FakeCluster, clock: FakeClock
) -> None:
    announce(cluster, "somebody", clock)
    role = cluster.get("/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles/"
                       "flexnode.io:see-serving-approver")  # fmt: skip
    assert role is not None
    (rule,) = role["rules"]
    assert (rule["verbs"], rule["resourceNames"]) == (["get"], [SIGN.rpartition("/")[2]])


def test_one_that_died_is_none_after_a_while_and_is_named(cluster: FakeCluster, clock: FakeClock) -> None:
    announce(cluster, "somebody", clock)
    clock.sleep(LASTS.total_seconds())
    assert find_approval(cluster, clock).found
    clock.sleep(1)
    found = find_approval(cluster, clock)
    assert found.found is None
    assert "somebody last said so at 2026-01-01" in found.why
    renew(cluster, "somebody", clock)
    assert find_approval(cluster, clock).found


def test_one_that_ends_takes_back_its_own_word_and_nobody_elses(
    cluster: FakeCluster, clock: FakeClock
) -> None:
    announce(cluster, "one", clock)
    announce(cluster, "another", clock)
    withdraw(cluster, "one")
    assert find_approval(cluster, clock).found
    withdraw(cluster, "another")
    withdraw(cluster, "another")
    assert find_approval(cluster, clock).found is None


@pytest.mark.parametrize(
    ("conditions", "found", "words"),
    [(("Approved",), True, "csr-1 was approved"), ((), False, "csr-1 was not approved")],
)
def test_an_approver_that_says_nothing_is_seen_by_what_it_did(
    cluster: FakeCluster, clock: FakeClock, conditions: tuple[str, ...], found: bool, words: str
) -> None:
    cluster.put(f"{CSRS}/csr-1", samples.csr("csr-1", conditions=conditions))
    approval = find_approval(cluster, clock)
    assert approval.found is found
    assert words in approval.why


def test_what_may_not_be_read_is_said_and_proves_nothing(cluster: FakeCluster, clock: FakeClock) -> None:
    announce(cluster, "somebody", clock)

    def refuse(_request: Request) -> None:
        raise cluster.refuse(403, "no", reason="Forbidden")

    cluster.before = refuse
    found = find_approval(cluster, clock)
    assert found.found is None
    assert found.why.count("may not be read") == 2


def test_a_cluster_that_cannot_be_asked_is_not_one_without_an_approver(
    cluster: FakeCluster, clock: FakeClock
) -> None:
    def fail(_request: Request) -> None:
        raise cluster.refuse(503, "starting")

    cluster.before = fail
    with pytest.raises(KubeError):
        find_approval(cluster, clock)
