"""Emptying a node loses no pod that its owner did not give up, and never waits without an end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from flexnode.errors import FlexError, KubeError
from flexnode.flows.drain import Patience, drain
from flexnode.generation import Stopped
from flexnode.kube import Request
from flexnode.kube.fake import FakeCluster
from flexnode.kube.judgement import DrainPolicy
from flexnode.kube.pods import MIRROR
from unit.flows.samples import NODE, NODE_PATH, Books, Timeline, answer_again, ready_node, refuse_all
from unit.kube.samples import pod, pod_path

EMPTY_DIR = {"name": "cache", "emptyDir": {}}
STRICT = DrainPolicy()


@dataclass
class Scene:
    """A cluster with one node on which `web-1` runs, unless a test says otherwise."""

    clock: Timeline = field(default_factory=Timeline)
    books: Books = field(default_factory=Books)
    patience: Patience = field(default_factory=Patience)
    stopped: bool = False

    def __post_init__(self) -> None:
        self.cluster = FakeCluster(clock=self.clock)
        self.cluster.put(NODE_PATH, ready_node())
        self.put("web-1")

    def put(self, name: str, **changes: Any) -> None:
        self.cluster.put(pod_path(name), pod(name, node=NODE, **changes))

    def drain(self, policy: DrainPolicy = STRICT) -> list[str]:
        gone = drain(
            self.cluster,
            NODE,
            policy=policy,
            patience=self.patience,
            clock=self.clock,
            progress=self.books,
            stop=lambda: self.stopped,
        )
        return [each.name for each in gone]

    @property
    def cordoned(self) -> bool:
        found = self.cluster.get(NODE_PATH)
        return found is not None and found["spec"].get("unschedulable") is True

    @property
    def evictions(self) -> list[Request]:
        return [each for each in self.cluster.requests if each.path.endswith("/eviction")]

    def there(self, name: str) -> bool:
        return self.cluster.get(pod_path(name)) is not None

    def refuse_evictions(self, code: int, message: str, *, times: int, **more: str) -> None:
        left = [times]

        def before(request: Request) -> None:
            if request.path.endswith("/eviction") and left[0]:
                left[0] -= 1
                raise self.cluster.refuse(code, message, **more)

        self.cluster.before = before


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_what_may_go_goes_and_the_node_stays_cordoned(scene: Scene) -> None:
    scene.put("web-2")
    assert scene.drain() == ["web-1", "web-2"]
    assert not scene.there("web-1")
    assert not scene.there("web-2")
    assert scene.cordoned


def test_a_node_that_cannot_be_cordoned_loses_no_pod(scene: Scene) -> None:
    """Evicted, its pods could come right back to it."""

    def before(request: Request) -> None:
        if request.method == "PATCH":
            raise scene.cluster.refuse(403, "not yours")

    scene.cluster.before = before
    with pytest.raises(KubeError, match="not yours"):
        scene.drain()
    assert scene.evictions == []


def test_the_node_is_cordoned_before_anybody_looks_at_its_pods(scene: Scene) -> None:
    """A pod that is scheduled in between would be overlooked."""
    scene.drain()
    methods = [request.method for request in scene.cluster.requests]
    assert methods.index("PATCH") < methods.index("GET")


@pytest.mark.parametrize(
    ("changes", "policy", "reason"),
    [
        ({"volumes": [EMPTY_DIR]}, STRICT, "the data in its emptyDir cache would be lost"),
        ({"owner": ""}, STRICT, "nothing would start it again elsewhere"),
        ({"owner": "", "volumes": [EMPTY_DIR]}, DrainPolicy(evict_unmanaged=True), "emptyDir cache"),
    ],
)
def test_one_pod_that_must_not_be_lost_keeps_all_where_they_are(
    scene: Scene, changes: dict[str, Any], policy: DrainPolicy, reason: str
) -> None:
    scene.put("zz-last", **changes)
    with pytest.raises(FlexError, match="default/zz-last") as caught:
        scene.drain(policy)
    assert caught.value.code == "drain/forbidden"
    assert caught.value.transient
    assert reason in caught.value.message
    assert scene.evictions == []
    assert scene.there("web-1")


@pytest.mark.parametrize(
    "changes", [{"volumes": [EMPTY_DIR]}, {"owner": ""}, {"owner": "", "volumes": [EMPTY_DIR]}]
)
def test_what_was_given_up_explicitly_goes(scene: Scene, changes: dict[str, Any]) -> None:
    scene.put("batch", **changes)
    everything = DrainPolicy(delete_empty_dir_data=True, evict_unmanaged=True)
    assert scene.drain(everything) == ["batch", "web-1"]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_finished_pod_forbids_nothing(scene: Scene, phase: str) -> None:
    scene.put("job", owner="", volumes=[EMPTY_DIR], phase=phase)
    assert "job" in scene.drain()


@pytest.mark.parametrize("changes", [{"owner": "DaemonSet"}, {"owner": "Node", "annotations": {MIRROR: "x"}}])
def test_pods_of_the_node_itself_are_left_alone(scene: Scene, changes: dict[str, Any]) -> None:
    """Their controller would bring them back at once, and the drain would never end."""
    scene.put("agent", volumes=[EMPTY_DIR], **changes)
    assert scene.drain() == ["web-1"]
    assert scene.there("agent")


def test_a_budget_is_named_while_it_is_waited_for_and_then_it_gives_way(scene: Scene) -> None:
    scene.cluster.budgets["default/web-1"] = "web-budget"
    scene.clock.at(60, scene.cluster.budgets.clear)
    assert scene.drain() == ["web-1"]
    assert any("default/web-1" in note and "web-budget" in note for note in scene.books.notes)
    assert 60 <= scene.clock.monotonic() <= 60 + scene.patience.longest_pause


def test_a_budget_is_asked_again_with_growing_pauses(scene: Scene) -> None:
    """An API server has more to do than to refuse the same thing each second."""
    scene.cluster.budgets["default/web-1"] = "web-budget"
    with pytest.raises(FlexError):
        scene.drain()
    assert 8 <= len(scene.evictions) <= 20


def test_a_budget_that_allows_nothing_ends_the_drain_after_its_time(scene: Scene) -> None:
    """Row 25: reported with the budget's name, to be tried again, and the node stays cordoned."""
    scene.put("other")
    scene.cluster.budgets["default/web-1"] = "web-budget"
    with pytest.raises(FlexError) as caught:
        scene.drain()
    assert caught.value.code == "drain/timeout"
    assert caught.value.transient
    assert "default/web-1" in caught.value.message
    assert "web-budget" in caught.value.message
    assert "default/other" not in caught.value.message
    assert 300 <= scene.clock.monotonic() <= 301
    assert scene.cordoned
    assert scene.there("web-1")


def test_a_throttling_server_is_left_alone_for_as_long_as_it_asks(scene: Scene) -> None:
    scene.refuse_evictions(429, "too many requests", times=1)
    assert scene.drain() == ["web-1"]
    assert len(scene.evictions) == 2


def test_a_namespace_that_is_being_deleted_is_waited_for(scene: Scene) -> None:
    scene.refuse_evictions(
        403, "the namespace is being terminated", times=2, cause="NamespaceTerminating", reason="Forbidden"
    )
    assert scene.drain() == ["web-1"]
    assert len(scene.evictions) == 3


def test_what_is_not_allowed_at_all_is_not_waited_for(scene: Scene) -> None:
    scene.refuse_evictions(403, "you may not evict", times=99, reason="Forbidden")
    with pytest.raises(KubeError, match="you may not evict"):
        scene.drain()
    assert scene.clock.slept == []
    assert scene.cordoned


def test_a_pod_that_is_gone_when_it_is_its_turn_is_fine(scene: Scene) -> None:
    scene.put("quick")

    def before(request: Request) -> None:
        if request.path.endswith("/eviction"):
            scene.cluster.remove(pod_path("quick"))

    scene.cluster.before = before
    assert scene.drain() == ["quick", "web-1"]


def test_a_pod_that_comes_back_with_another_uid_is_gone(scene: Scene) -> None:
    """A StatefulSet gives the same name again; waiting for the name would never end."""
    scene.cluster.budgets["default/web-1"] = "web-budget"

    def replace() -> None:
        scene.cluster.put(pod_path("web-1"), pod("web-1", node="node-2", uid="another"))

    scene.clock.at(7, replace)
    assert scene.drain() == ["web-1"]
    assert scene.there("web-1")
    assert scene.clock.monotonic() < 12


def test_a_pod_whose_containers_take_their_time_is_waited_for(scene: Scene) -> None:
    """Accepted is not gone: a machine that is rebooted now would kill what is shutting down."""
    answers = scene.cluster.send

    class Slow(FakeCluster):
        def send(self, request: Request) -> bytes:
            return b"{}" if request.path.endswith("/eviction") else answers(request)

    slow = Slow(clock=scene.clock)
    scene.clock.at(40, lambda: scene.cluster.remove(pod_path("web-1")))
    gone = drain(slow, NODE, policy=STRICT, patience=scene.patience, clock=scene.clock, progress=scene.books)
    assert [each.name for each in gone] == ["web-1"]
    assert scene.clock.monotonic() == 40


def test_a_drain_goes_on_when_the_api_server_is_back(scene: Scene) -> None:
    """Row 24: cordoned all the while."""
    scene.put("web-2")
    scene.cluster.budgets["default/web-2"] = "web-budget"
    scene.clock.at(10, lambda: refuse_all(scene.cluster))
    scene.clock.at(100, lambda: answer_again(scene.cluster))
    scene.clock.at(100, scene.cluster.budgets.clear)
    assert scene.drain() == ["web-1", "web-2"]
    assert scene.cordoned
    assert any("the server is starting" in note for note in scene.books.notes)
    assert 100 <= scene.clock.monotonic() <= 130


def test_an_api_server_that_fails_right_after_the_cordon_is_waited_for_too(scene: Scene) -> None:
    def before(request: Request) -> None:
        if request.method == "GET":
            raise scene.cluster.refuse(500, "etcd has no leader")

    scene.cluster.before = before
    scene.clock.at(5, lambda: answer_again(scene.cluster))
    assert scene.drain() == ["web-1"]


def test_an_api_server_that_stays_away_ends_the_drain_after_its_time(scene: Scene) -> None:
    scene.cluster.budgets["default/web-1"] = "web-budget"
    scene.clock.at(10, lambda: refuse_all(scene.cluster))
    with pytest.raises(FlexError) as caught:
        scene.drain()
    assert caught.value.code == "drain/timeout"
    assert "the server is starting" in caught.value.message
    assert 300 <= scene.clock.monotonic() <= 301


def test_a_node_that_somebody_uncordons_meanwhile_is_drained_again(scene: Scene) -> None:
    """Row 26: what was scheduled to it meanwhile would die with the reboot."""
    scene.cluster.budgets["default/web-1"] = "web-budget"

    def uncordon() -> None:
        scene.cluster.put(NODE_PATH, ready_node())
        scene.put("newcomer")

    scene.clock.at(20, uncordon)
    scene.clock.at(30, scene.cluster.budgets.clear)
    assert scene.drain() == ["web-1", "newcomer"]
    assert scene.cordoned
    assert not scene.there("newcomer")


def test_a_node_that_is_deleted_meanwhile_needs_nothing_more(scene: Scene) -> None:
    scene.cluster.budgets["default/web-1"] = "web-budget"

    def delete() -> None:
        scene.cluster.remove(NODE_PATH)
        scene.cluster.remove(pod_path("web-1"))

    scene.clock.at(20, delete)
    assert scene.drain() == ["web-1"]


def test_an_empty_node_is_drained_at_once(scene: Scene) -> None:
    scene.cluster.remove(pod_path("web-1"))
    assert scene.drain() == []
    assert scene.clock.slept == []
    assert scene.cordoned


def test_a_drain_that_waits_can_be_stopped(scene: Scene) -> None:
    scene.cluster.budgets["default/web-1"] = "web-budget"

    def stop() -> None:
        scene.stopped = True

    scene.clock.at(30, stop)
    with pytest.raises(Stopped):
        scene.drain()
    assert scene.clock.monotonic() == 30
    assert scene.cordoned
