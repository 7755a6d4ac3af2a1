"""A node that gets another version of kubelet loses no pod that its owner did not give up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from flexnode.components.layout import CONTAINERD, KUBELET
from flexnode.errors import FlexError, KubeError
from flexnode.flows.evacuating import Evacuating
from flexnode.flows.going_back import recover, rollback
from flexnode.flows.keeping import release
from flexnode.flows.planning import plan_bootstrap
from flexnode.generation import Generation, Outcome, Result, Stopped
from flexnode.host.fake import FakeHost
from flexnode.kube import Request
from flexnode.kube.fake import FakeCluster
from flexnode.model.spec import DrainSpec
from flexnode.resources import Disruption, Resource
from flexnode.resources.state import Owned
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
from unit.flows.world import CATALOG, World
from unit.generation.samples import Crash
from unit.kube.samples import pod, pod_path

OLDER, NEWER = {"versions": {"kubernetes": "1.34"}}, {"versions": {"kubernetes": "1.35"}}
BROKEN = CATALOG.release_set("1.35").kubernetes
WHERE = Generation(resources=(Resource(key="owned:node", want=Owned(node=NODE)),))
EMPTY_DIR = {"name": "cache", "emptyDir": {}}


@dataclass
class Scene:
    """A joined machine, its Node, and a pod on it."""

    host: FakeHost = field(default_factory=working_host)
    clock: Timeline = field(default_factory=Timeline)
    books: Books = field(default_factory=Books)
    noted: list[bool] = field(default_factory=list)  # what the node was when it was said to be cordoned

    def __post_init__(self) -> None:
        self.cluster = FakeCluster(clock=self.clock)
        self.cluster.put(NODE_PATH, ready_node())
        self.cluster.put(pod_path(), pod(node=NODE))

    @contextmanager
    def connect(self) -> Iterator[FakeCluster]:
        yield self.cluster

    def evacuating(self, **changes: Any) -> Evacuating:
        fields: dict[str, Any] = {
            "host": self.host,
            "clock": self.clock,
            "system_uuid": UUID,
            "connect": self.connect,
            "progress": self.books,
        }
        return Evacuating(**{**fields, **changes})

    def drain(self, **changes: Any) -> Evacuating:
        evacuating = self.evacuating(**changes)
        evacuating.drain(WHERE, lambda: self.noted.append(is_cordoned(self.cluster)))
        return evacuating

    @property
    def written(self) -> list[Request]:
        return [each for each in self.cluster.requests if each.method != "GET"]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def is_cordoned(cluster: FakeCluster) -> bool:
    found = cluster.get(NODE_PATH)
    return found is not None and bool(found["spec"].get("unschedulable"))


def cordon(cluster: FakeCluster, *, on: bool = True) -> None:
    document = cluster.get(NODE_PATH)
    assert document is not None
    document["spec"]["unschedulable"] = on
    cluster.put(NODE_PATH, document)


class TestTheCluster:
    def test_a_cordon_is_announced_before_it_is_one(self, scene: Scene) -> None:
        scene.drain()
        assert scene.noted == [False]
        assert is_cordoned(scene.cluster)
        assert scene.cluster.get(pod_path()) is None

    def test_a_node_that_somebody_cordoned_is_drained_and_not_claimed(self, scene: Scene) -> None:
        cordon(scene.cluster)
        scene.drain()
        assert scene.noted == []
        assert scene.cluster.get(pod_path()) is None

    @pytest.mark.parametrize(
        ("changes", "allowed"),
        [
            ({"volumes": [EMPTY_DIR]}, DrainSpec(delete_empty_dir_data=True)),
            ({"owner": ""}, DrainSpec(evict_unmanaged=True)),
        ],
    )
    def test_what_would_be_lost_goes_only_if_that_was_allowed(
        self, scene: Scene, changes: dict[str, Any], allowed: DrainSpec
    ) -> None:
        scene.cluster.put(pod_path(), pod(node=NODE, **changes))
        with pytest.raises(FlexError, match="default/web-1") as caught:
            scene.drain()
        assert (caught.value.code, caught.value.transient) == ("drain/forbidden", True)
        assert "agent.drain" in caught.value.hint
        scene.drain(spec=allowed)
        assert scene.cluster.get(pod_path()) is None

    @pytest.mark.parametrize("seconds", [60.0, 900.0])
    def test_it_waits_for_a_budget_as_long_as_was_configured(self, scene: Scene, seconds: float) -> None:
        scene.cluster.budgets["default/web-1"] = "web-budget"
        with pytest.raises(FlexError, match="web-budget"):
            scene.drain(spec=DrainSpec(timeout=seconds))
        assert seconds <= scene.clock.monotonic() <= seconds + 1

    def test_it_can_be_stopped(self, scene: Scene) -> None:
        scene.cluster.budgets["default/web-1"] = "web-budget"
        with pytest.raises(Stopped):
            scene.drain(stop=lambda: True)

    @pytest.mark.parametrize(
        "change",
        [
            lambda scene: scene.host.files.nodes.clear(),
            lambda scene: scene.cluster.remove(NODE_PATH),
            lambda scene: scene.cluster.put(NODE_PATH, ready_node(nodeInfo={"systemUUID": OTHER_UUID})),
        ],
        ids=["not joined", "deleted", "another machine's"],
    )
    def test_a_node_that_is_not_this_machine_s_is_left_alone(
        self, scene: Scene, change: Callable[[Scene], object]
    ) -> None:
        change(scene)
        scene.drain().uncordon(WHERE)
        assert scene.written == []
        assert scene.noted == []

    def test_nothing_goes_on_while_nobody_can_say_whether_there_are_pods(self, scene: Scene) -> None:
        refuse_all(scene.cluster)
        with pytest.raises(KubeError, match="the server is starting"):
            scene.drain()

    def test_the_way_back_goes_on_all_the_same_and_says_so(self, scene: Scene) -> None:
        refuse_all(scene.cluster)
        evacuating = scene.drain(urgent=True)
        assert len(evacuating.reservations) == 1
        assert "the server is starting" in evacuating.reservations[0]

    def test_but_not_where_the_cluster_says_no(self, scene: Scene) -> None:
        refuse_all(scene.cluster, code=403, message="not yours")
        with pytest.raises(KubeError, match="not yours"):
            scene.drain(urgent=True)

    def test_an_api_server_that_hiccups_does_not_keep_the_node_cordoned(self, scene: Scene) -> None:
        """A kubelet that was just restarted is not the only one that is busy."""
        cordon(scene.cluster)
        refuse_all(scene.cluster)
        scene.clock.at(2, lambda: answer_again(scene.cluster))
        scene.evacuating().uncordon(WHERE)
        assert not is_cordoned(scene.cluster)


@pytest.fixture
def node(world: World) -> World:
    """A node of 1.34 with a pod of a ReplicaSet on it."""
    assert world.bootstrap(**OLDER).result is Result.CONFIRMED
    world.cluster.put(pod_path(), pod(node=NODE))
    world.host.writes.clear()
    return world


def there(world: World) -> bool:
    return world.cluster.get(pod_path()) is not None


def version(world: World) -> str:
    document = world.cluster.get(NODE_PATH)
    assert document is not None
    return str(document["status"]["nodeInfo"]["kubeletVersion"]).rpartition(".")[0]


def at_restart(world: World, act: Callable[[], object]) -> None:
    """Once, when kubelet is about to be restarted."""
    left = [act]

    def hook(moment: str) -> None:
        if moment == f"before restart {KUBELET}" and left:
            left.pop()()

    world.host.hook = hook


def crash() -> None:
    raise Crash("at the restart of kubelet")


class TestWhatItCosts:
    def test_another_minor_version_drains(self, node: World) -> None:
        assert plan_bootstrap(node.resolved(**NEWER), node.workplace).disruption is Disruption.DRAIN

    def test_another_kind_of_pod_network_drains(self, node: World) -> None:
        """Pods of the one would not reach those of the other."""
        other = {**OLDER, "runtime": {"cni": "none"}}
        assert plan_bootstrap(node.resolved(**other), node.workplace).disruption is Disruption.DRAIN
        outcome = node.bootstrap(**other)
        assert (outcome.result, outcome.disruption) == (Result.CONFIRMED, Disruption.DRAIN)
        assert not there(node)

    @pytest.mark.parametrize(
        ("sections", "disruption"),
        [
            ({"host": {"journaldMaxUse": "1G"}}, Disruption.NONE),
            ({"host": {"sysctls": {"vm.max_map_count": "262144"}}}, Disruption.NONE),
            ({"runtime": {"sandboxImage": "registry.invalid/pause:1"}}, Disruption.RESTART_CONTAINERD),
            ({"kubelet": {"maxPods": 42}}, Disruption.RESTART_KUBELET),
            ({"cluster": {"dnsServiceIP": "10.96.0.11"}}, Disruption.RESTART_KUBELET),
            ({"proxy": {"http": "http://proxy.example:3128"}}, Disruption.RESTART_KUBELET),
        ],
    )
    def test_what_pods_can_stay_for_does_not(
        self, node: World, sections: dict[str, Any], disruption: Disruption
    ) -> None:
        sections = {name: {**node.config.get(name, {}), **values} for name, values in sections.items()}
        plan = plan_bootstrap(node.resolved(**OLDER, **sections), node.workplace)
        assert plan.changes
        assert plan.disruption is disruption

    def test_a_first_bootstrap_has_nothing_to_drain(self, world: World) -> None:
        assert plan_bootstrap(world.resolved(**NEWER), world.workplace).disruption < Disruption.DRAIN


class TestAnUpgrade:
    def test_pods_go_and_the_node_takes_new_ones_when_it_is_ready(self, node: World) -> None:
        seen: list[tuple[bool, bool]] = []
        at_restart(node, lambda: seen.append((there(node), is_cordoned(node.cluster))))
        outcome = node.bootstrap(**NEWER)
        assert (outcome.result, outcome.reservations) == (Result.CONFIRMED, ())
        assert seen == [(False, True)]
        assert not is_cordoned(node.cluster)
        assert version(node) == "v1.35"
        told = [line.removesuffix(": done") for line in node.books.told if line.endswith(": done")]
        steps = ["drain the node", "apply", "wait until it is Ready", "confirm", "let pods come again"]
        assert [line for line in dict.fromkeys(reversed(told)) if line in steps] == steps[::-1]

    def test_pods_stay_where_nothing_of_theirs_changes(self, node: World) -> None:
        assert node.bootstrap(**OLDER, kubelet={"maxPods": 42}).result is Result.CONFIRMED
        assert there(node)

    def test_a_person_s_cordon_outlives_it(self, node: World) -> None:
        """Row 27."""
        cordon(node.cluster)
        assert node.bootstrap(**NEWER).result is Result.CONFIRMED
        assert not there(node)
        assert is_cordoned(node.cluster)

    def test_a_budget_keeps_the_machine_as_it_is(self, node: World) -> None:
        """Row 25: nothing is changed, what is in the way has a name, and it can be tried again."""
        node.cluster.budgets["default/web-1"] = "web-budget"
        before = node.host.snapshot(times=True)
        begin = node.clock.monotonic()
        with pytest.raises(FlexError) as caught:
            node.bootstrap(**NEWER, agent={"drain": {"timeout": "90s"}})
        assert 90 <= node.clock.monotonic() - begin < 100
        assert caught.value.transient
        assert "default/web-1" in caught.value.message
        assert "web-budget" in caught.value.message
        assert node.host.snapshot(times=True) == before
        assert node.memory()["journal"] is False
        assert is_cordoned(node.cluster)
        assert there(node)
        node.cluster.budgets.clear()
        assert node.bootstrap(**NEWER).result is Result.CONFIRMED
        assert not is_cordoned(node.cluster)

    @pytest.mark.parametrize(
        ("changes", "reason", "setting"),
        [
            ({"owner": ""}, "nothing would start it again", "evictUnmanaged"),
            ({"volumes": [EMPTY_DIR]}, "the data in its emptyDir cache", "deleteEmptyDirData"),
        ],
    )
    def test_pods_that_would_be_lost_are_named_and_none_is_moved(
        self, node: World, changes: dict[str, Any], reason: str, setting: str
    ) -> None:
        node.cluster.put(pod_path("frail"), pod("frail", node=NODE, **changes))
        with pytest.raises(FlexError, match=f"default/frail: {reason}"):
            node.bootstrap(**NEWER)
        assert there(node)
        assert node.host.writes == []
        outcome = node.bootstrap(**NEWER, agent={"drain": {setting: True}})
        assert outcome.result is Result.CONFIRMED

    def test_an_api_server_that_is_away_changes_nothing(self, node: World) -> None:
        """Whether there are pods nobody can tell."""
        node.api_down = True
        with pytest.raises(FlexError) as caught:
            node.bootstrap(**NEWER)
        assert caught.value.transient
        assert node.host.writes == []
        assert not is_cordoned(node.cluster)

    def test_a_change_that_is_taken_back_lets_pods_come_again(self, node: World) -> None:
        node.cluster.budgets["default/web-1"] = "web-budget"
        with pytest.raises(FlexError):
            node.bootstrap(**NEWER)
        assert node.bootstrap(**OLDER).result is Result.UNCHANGED
        assert not is_cordoned(node.cluster)
        assert there(node)

    def test_so_does_the_agent_when_nothing_is_tried_any_more(self, node: World) -> None:
        node.cluster.budgets["default/web-1"] = "web-budget"
        with pytest.raises(FlexError):
            node.bootstrap(**NEWER)
        assert release(node.workplace, seconds=60).result is Result.UNCHANGED
        assert not is_cordoned(node.cluster)


class TestOneThatFails:
    def test_the_old_version_takes_pods_again_once_it_is_ready(self, node: World) -> None:
        node.broken.add(BROKEN)
        assert node.bootstrap(**NEWER).result is Result.ROLLED_BACK
        assert version(node) == "v1.34"
        assert not is_cordoned(node.cluster)

    def test_a_node_that_does_not_get_ready_again_stays_cordoned(self, node: World) -> None:
        node.broken |= {BROKEN, CATALOG.release_set("1.34").kubernetes}
        outcome = node.bootstrap(**NEWER)
        assert outcome.result is Result.DEGRADED
        assert is_cordoned(node.cluster)
        with pytest.raises(FlexError):
            release(node.workplace, seconds=60)
        assert is_cordoned(node.cluster)
        node.broken.clear()
        release(node.workplace, seconds=60)
        assert not is_cordoned(node.cluster)

    def test_who_goes_back_while_the_cluster_is_away_is_at_work_again_at_once(self, node: World) -> None:
        node.bootstrap(**NEWER)
        node.api_down = True
        back = node.clock.monotonic() + 100
        node.clock.at(back, lambda: setattr(node, "api_down", False))
        outcome = rollback(node.workplace, seconds=60)
        assert outcome.result is Result.CONFIRMED
        assert any("pods were not moved away" in each for each in outcome.reservations)
        assert node.host.units.is_active(CONTAINERD)


class TestBeingCutOff:
    def go_on(self, world: World) -> Outcome | None:
        world.host.hook = lambda _moment: None
        return recover(world.workplace, spec=world.resolved(**NEWER).spec)

    def test_it_goes_on_and_ends_taking_pods(self, node: World) -> None:
        at_restart(node, crash)
        with pytest.raises(Crash):
            node.bootstrap(**NEWER)
        assert is_cordoned(node.cluster)
        outcome = self.go_on(node)
        assert outcome is not None
        assert outcome.result is Result.CONFIRMED
        assert not is_cordoned(node.cluster)

    def test_pods_that_came_because_somebody_uncordoned_it_are_moved_first(self, node: World) -> None:
        """Row 26."""
        at_restart(node, crash)
        with pytest.raises(Crash):
            node.bootstrap(**NEWER)
        cordon(node.cluster, on=False)
        node.cluster.put(pod_path(), pod(node=NODE, uid="a newcomer"))
        node.host.writes.clear()
        node.cluster.budgets["default/web-1"] = "web-budget"
        with pytest.raises(FlexError, match="web-budget"):
            self.go_on(node)
        assert node.host.writes == []
        assert is_cordoned(node.cluster)
        node.cluster.budgets.clear()
        outcome = self.go_on(node)
        assert outcome is not None
        assert outcome.result is Result.CONFIRMED
        assert not there(node)
        assert not is_cordoned(node.cluster)

    def test_a_person_s_cordon_outlives_that_too(self, node: World) -> None:
        cordon(node.cluster)
        at_restart(node, crash)
        with pytest.raises(Crash):
            node.bootstrap(**NEWER)
        self.go_on(node)
        assert version(node) == "v1.35"
        assert is_cordoned(node.cluster)
