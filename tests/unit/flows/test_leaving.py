"""A node that leaves takes its pods' leave first, deletes its own Node, and nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from flexnode.errors import FlexError
from flexnode.flows.leaving import Leaving
from flexnode.generation import Stopped
from flexnode.host.fake import FakeHost
from flexnode.kube import Request
from flexnode.kube.fake import FakeCluster
from unit.flows.samples import (
    NODE,
    NODE_PATH,
    OTHER_UUID,
    UUID,
    Books,
    Timeline,
    answer_again,
    ready_node,
    refuse_all,
    working_host,
)
from unit.kube.samples import pod, pod_path


@dataclass
class Scene:
    """A joined machine, its Node, and a pod on it."""

    host: FakeHost = field(default_factory=working_host)
    clock: Timeline = field(default_factory=Timeline)
    books: Books = field(default_factory=Books)
    connected: int = 0
    node: dict[str, Any] = field(default_factory=ready_node)

    def __post_init__(self) -> None:
        self.cluster = FakeCluster(clock=self.clock)
        self.cluster.put(NODE_PATH, self.node)
        self.cluster.put(pod_path(), pod(node=NODE))

    @contextmanager
    def connect(self) -> Iterator[FakeCluster]:
        self.connected += 1
        yield self.cluster

    def leaving(self, **changes: Any) -> Leaving:
        fields: dict[str, Any] = {
            "host": self.host,
            "clock": self.clock,
            "system_uuid": UUID,
            "connect": self.connect,
            "progress": self.books,
        }
        return Leaving(**{**fields, **changes})

    @property
    def methods(self) -> list[str]:
        return [request.method for request in self.cluster.requests]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_pods_go_first_and_then_the_node(scene: Scene) -> None:
    leaving = scene.leaving()
    leaving(NODE)
    assert scene.cluster.get(NODE_PATH) is None
    assert scene.cluster.get(pod_path()) is None
    assert scene.methods.index("POST") < scene.methods.index("DELETE")
    assert leaving.reservations == []
    assert [line for line in scene.books.told if line.endswith("done")] == [
        f"drain {NODE}: done",
        f"delete the Node {NODE}: done",
    ]


def test_pods_that_only_live_here_go_with_the_machine(scene: Scene) -> None:
    scene.cluster.put(pod_path("own"), pod("own", node=NODE, owner="", volumes=[{"emptyDir": {}}]))
    scene.leaving()(NODE)
    assert scene.cluster.get(pod_path("own")) is None


def test_a_machine_that_never_joined_asks_nobody(scene: Scene) -> None:
    """It has nothing to come with, and a cluster that was misconfigured must not keep it from leaving."""
    leaving = scene.leaving(host=working_host(joined=False))
    leaving(NODE)
    assert scene.connected == 0
    assert leaving.reservations == []


def test_a_node_that_is_gone_already_is_fine(scene: Scene) -> None:
    scene.cluster.remove(NODE_PATH)
    leaving = scene.leaving()
    leaving(NODE)
    assert set(scene.methods) == {"GET"}
    assert leaving.reservations == []


def test_the_node_of_another_machine_is_left_alone(scene: Scene) -> None:
    """Another machine has taken over the name: it is neither drained nor deleted."""
    scene.cluster.put(NODE_PATH, {**scene.node, "status": {"nodeInfo": {"systemUUID": OTHER_UUID}}})
    scene.leaving()(NODE)
    assert scene.methods == ["GET"]
    assert scene.cluster.get(pod_path()) is not None


@pytest.mark.parametrize(("theirs", "ours"), [(UUID.upper(), UUID), ("", UUID), (OTHER_UUID, ""), ("", "")])
def test_a_node_that_cannot_be_told_from_another_is_ours(scene: Scene, theirs: str, ours: str) -> None:
    """Firmware writes its UUID in either case, and some machines have none: kubelet then makes one up."""
    scene.cluster.put(NODE_PATH, {**scene.node, "status": {"nodeInfo": {"systemUUID": theirs}}})
    scene.leaving(system_uuid=ours)(NODE)
    assert scene.cluster.get(NODE_PATH) is None


def test_a_node_that_was_taken_over_while_it_was_drained_stays(scene: Scene) -> None:
    def before(request: Request) -> None:
        if request.method == "DELETE":
            document = ready_node()
            document["metadata"]["uid"] = "of another"
            scene.cluster.put(NODE_PATH, document)

    scene.cluster.before = before
    scene.leaving()(NODE)
    found = scene.cluster.get(NODE_PATH)
    assert found is not None
    assert found["metadata"]["uid"] == "of another"


@pytest.mark.parametrize("force", [False, True])
def test_a_cluster_that_lets_no_node_delete_itself_is_told_with_the_command(
    scene: Scene, force: bool
) -> None:
    def before(request: Request) -> None:
        if request.method == "DELETE":
            raise scene.cluster.refuse(403, "nodes may not delete nodes", reason="Forbidden")

    scene.cluster.before = before
    leaving = scene.leaving(force=force)
    leaving(NODE)
    (reservation,) = leaving.reservations
    assert f"kubectl delete node {NODE}" in reservation
    assert scene.cluster.get(pod_path()) is None


def test_a_cluster_that_cannot_be_reached_keeps_the_node_from_leaving(scene: Scene) -> None:
    refuse_all(scene.cluster)
    with pytest.raises(FlexError) as caught:
        scene.leaving()(NODE)
    assert caught.value.code == "kube/server-error"
    assert caught.value.transient
    assert "--force" in caught.value.hint


def test_forced_it_leaves_a_cluster_that_cannot_be_reached_and_says_what_stays(scene: Scene) -> None:
    refuse_all(scene.cluster)
    leaving = scene.leaving(force=True)
    leaving(NODE)
    (reservation,) = leaving.reservations
    assert "the server is starting" in reservation
    assert f"kubectl delete node {NODE}" in reservation


@pytest.mark.parametrize("force", [False, True])
def test_a_connection_that_cannot_be_made_is_a_cluster_that_cannot_be_reached(
    scene: Scene, force: bool
) -> None:
    def broken() -> Any:
        raise FlexError("the kubeconfig is damaged", code="kube/bad-kubeconfig")

    leaving = scene.leaving(connect=broken, force=force)
    if force:
        leaving(NODE)
        assert "the kubeconfig is damaged" in leaving.reservations[0]
    else:
        with pytest.raises(FlexError, match="the kubeconfig is damaged"):
            leaving(NODE)


def test_a_budget_that_never_gives_way_keeps_the_node_for_one_patience_and_no_more(scene: Scene) -> None:
    """Whoever calls tries again what may pass: five patiences would be half an hour."""
    scene.cluster.budgets["default/web-1"] = "web-budget"
    leaving = scene.leaving()
    for _ in range(3):
        with pytest.raises(FlexError, match="web-budget") as caught:
            leaving(NODE)
        assert caught.value.code == "drain/timeout"
        assert caught.value.hint.count("--force") == 1
    assert scene.clock.monotonic() < 310
    assert scene.cluster.get(NODE_PATH) is not None


def test_forced_it_leaves_although_a_budget_forbids_it(scene: Scene) -> None:
    scene.cluster.budgets["default/web-1"] = "web-budget"
    leaving = scene.leaving(force=True)
    leaving(NODE)
    assert scene.cluster.get(NODE_PATH) is None
    (reservation,) = leaving.reservations
    assert "web-budget" in reservation
    assert f"drain {NODE}: failed" in scene.books.told


@pytest.mark.parametrize("force", [False, True])
def test_leaving_can_be_stopped_while_it_waits(scene: Scene, force: bool) -> None:
    """A stop is no refusal of the cluster: going on by force would do what was just called off."""
    scene.cluster.budgets["default/web-1"] = "web-budget"
    asked: list[bool] = []
    scene.clock.at(30, lambda: asked.append(True))
    leaving = scene.leaving(force=force, stop=lambda: bool(asked))
    with pytest.raises(Stopped):
        leaving(NODE)
    assert leaving.reservations == []
    assert scene.cluster.get(NODE_PATH) is not None


def test_leaving_can_be_gone_on_with(scene: Scene) -> None:
    """The API server comes back after the first attempt: the second one finds what is left."""
    refuse_all(scene.cluster)
    leaving = scene.leaving()
    with pytest.raises(FlexError):
        leaving(NODE)
    answer_again(scene.cluster)
    leaving(NODE)
    assert scene.cluster.get(NODE_PATH) is None
