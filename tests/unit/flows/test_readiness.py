"""No node counts as Ready that is not, and none is given up for what is not its fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from flexnode.components.layout import CONTAINERD, KUBECONFIG, KUBELET, KUBELET_CERTIFICATE
from flexnode.errors import FlexError, HostError
from flexnode.flows.readiness import STABLE, Readiness
from flexnode.generation import Deadline, Generation, Stopped, compose
from flexnode.host.door import UnitInfo
from flexnode.host.fake import FakeHost
from flexnode.host.fake.units import FakeUnits
from flexnode.kube.fake import FakeCluster
from flexnode.resources import Phase, Resource
from flexnode.resources.state import Owned
from unit.flows.samples import (
    LEASE_PATH,
    NODE,
    NODE_PATH,
    OTHER_UUID,
    UUID,
    VERSION,
    Books,
    Timeline,
    answer_again,
    lease,
    ready_node,
    refuse_all,
    working_host,
)

SECONDS = 300.0
JOINED = compose(
    [Resource(key="owned:node", want=Owned(node=NODE), phase=Phase.JOINED)], needs=[], kubernetes=VERSION
)
BAKED = Generation(kubernetes=VERSION)


@dataclass
class Scene:
    """All is well: both services run, kubelet is healthy and renews its Lease every ten seconds."""

    host: FakeHost = field(default_factory=working_host)
    clock: Timeline = field(default_factory=Timeline)
    books: Books = field(default_factory=Books)
    fault: str = ""
    renewing: bool = True
    stopped: bool = False
    connected: int = 0

    def __post_init__(self) -> None:
        self.cluster = FakeCluster(clock=self.clock)
        self.cluster.put(NODE_PATH, ready_node())
        self.cluster.put(LEASE_PATH, lease(self.clock, ago=9))
        self.clock.ticks.append(self._renew)

    def _renew(self) -> None:
        if self.renewing and self.clock.monotonic() % 10 < 1 and self.host.units.is_active(KUBELET):
            self.cluster.put(LEASE_PATH, lease(self.clock))

    @contextmanager
    def connect(self) -> Iterator[FakeCluster]:
        self.connected += 1
        yield self.cluster

    def wait(self, generation: Generation = JOINED, seconds: float = SECONDS) -> float:
        """How long it took."""
        gate = Readiness(
            host=self.host,
            clock=self.clock,
            system_uuid=UUID,
            connect=self.connect,
            find_kubelet_fault=lambda: self.fault,
            progress=self.books,
            stop=lambda: self.stopped,
        )
        gate(generation, Deadline(self.clock, seconds))
        return self.clock.monotonic()

    def put_node(self, **status: Any) -> None:
        self.cluster.put(NODE_PATH, ready_node(**status))

    def set(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_node_is_ready_once_its_services_have_run_for_a_while(scene: Scene) -> None:
    assert scene.wait() == STABLE


@pytest.fixture
def alone(scene: Scene) -> Scene:
    """A machine that is only prepared: its kubelet waits for a cluster."""
    scene.host.units.stop(KUBELET)
    return scene


def test_a_machine_that_joins_no_cluster_asks_none_and_does_not_wait_for_kubelet(alone: Scene) -> None:
    assert alone.wait(BAKED) == 0
    assert alone.connected == 0


def test_a_machine_that_can_start_no_sandbox_is_not_prepared(alone: Scene) -> None:
    alone.host.runtime.sandbox_failure = HostError("seccomp is not supported", code="cri/sandbox")
    with pytest.raises(FlexError) as caught:
        alone.wait(BAKED)
    assert caught.value.code == "cri/sandbox"


def test_a_machine_whose_runtime_stands_still_is_not_prepared(alone: Scene) -> None:
    alone.host.units.stop(CONTAINERD)
    with pytest.raises(FlexError, match="did not come to work within 60 s") as caught:
        alone.wait(BAKED, seconds=60)
    assert caught.value.code == "node/unit-down"


def test_a_kubelet_that_runs_without_a_cluster_is_somebody_s_mistake(scene: Scene) -> None:
    """A template with it would start as many stray kubelets as there are machines."""
    with pytest.raises(FlexError) as caught:
        scene.wait(BAKED)
    assert caught.value.code == "node/stray-kubelet"


NOT_READY = [{"type": "Ready", "status": "False", "message": "the CNI plugin is not initialized"}]
OTHER_VERSION = {"kubeletVersion": "v1.34.0", "systemUUID": UUID}


@dataclass(frozen=True)
class Unmet:
    """One thing that is missing while all else is there, and what is said of it."""

    code: str
    says: str
    spoil: Callable[[Scene], object]

    def __str__(self) -> str:
        return self.code


def down(unit: str) -> Callable[[Scene], None]:
    return lambda scene: scene.host.units.crash(unit, restarted=False)


def sandbox_fails(scene: Scene) -> None:
    scene.host.runtime.sandbox_failure = HostError(
        "no sandbox starts", code="host/sandbox-failed", transient=True
    )


def no_lease(scene: Scene) -> None:
    scene.cluster.remove(LEASE_PATH)
    scene.renewing = False


UNMET = [
    Unmet("node/unit-down", CONTAINERD, down(CONTAINERD)),
    Unmet("node/unit-down", KUBELET, down(KUBELET)),
    Unmet("host/sandbox-failed", "no sandbox starts", sandbox_fails),
    Unmet("node/kubelet-unhealthy", "PLEG", lambda scene: scene.set(fault="PLEG is not healthy")),
    Unmet("join/no-certificate", "certificate", lambda scene: scene.host.files.remove(KUBELET_CERTIFICATE)),
    Unmet("join/no-certificate", "certificate", lambda scene: scene.host.files.remove(KUBECONFIG)),
    Unmet("node/not-registered", NODE, lambda scene: scene.cluster.remove(NODE_PATH)),
    Unmet("node/other-version", "v1.34.0", lambda scene: scene.put_node(nodeInfo=OTHER_VERSION)),
    Unmet("node/not-ready", "CNI plugin", lambda scene: scene.put_node(conditions=NOT_READY)),
    Unmet("node/not-ready", "not Ready", lambda scene: scene.put_node(conditions=[])),
    Unmet("node/silent", "Lease", lambda scene: scene.set(renewing=False)),
    Unmet(
        "node/silent", "Lease", lambda scene: (scene.cluster.remove(LEASE_PATH), scene.set(renewing=False))
    ),
]


@pytest.mark.parametrize("unmet", UNMET, ids=str)
def test_each_thing_alone_keeps_a_node_from_being_ready(scene: Scene, unmet: Unmet) -> None:
    """At the deadline the failure is that of what is missing, and says for how long it was waited for."""
    unmet.spoil(scene)
    with pytest.raises(FlexError) as caught:
        scene.wait()
    assert caught.value.code == unmet.code
    assert caught.value.transient
    assert "within 300 s" in caught.value.message
    assert unmet.says in caught.value.message
    assert any(unmet.says in note for note in scene.books.notes)


@pytest.mark.parametrize("unmet", UNMET, ids=str)
def test_each_thing_may_come_later(unmet: Unmet) -> None:
    """Nothing that passes by itself ends the wait, and the 20 seconds are not counted from before it."""
    scene = Scene()
    unmet.spoil(scene)

    def mend() -> None:
        well = Scene(clock=scene.clock)
        scene.host.units.start(CONTAINERD)
        scene.host.units.start(KUBELET)
        scene.host.runtime.sandbox_failure = None
        for path in (KUBELET_CERTIFICATE, KUBECONFIG):
            scene.host.files.place(path, "of kubelet")
        scene.set(fault="", renewing=True)
        for path in (NODE_PATH, LEASE_PATH):
            found = well.cluster.get(path)
            assert found is not None
            scene.cluster.put(path, found)

    scene.clock.at(60, mend)
    took = scene.wait()
    assert 60 <= took <= 60 + STABLE + 10


@dataclass
class SlowUnits:
    """A systemd under load: for a while it answers nothing."""

    below: FakeUnits
    clock: Timeline
    until: float

    def find_all(self, names: Iterable[str]) -> Mapping[str, UnitInfo]:
        if self.clock.monotonic() < self.until:
            raise HostError("systemd does not answer", code="host/systemd-unavailable", transient=True)
        return self.below.find_all(names)

    def is_active(self, name: str) -> bool:
        return self.below.is_active(name)


def test_a_systemd_that_does_not_answer_for_a_moment_fails_no_node(scene: Scene) -> None:
    scene.host.units = SlowUnits(scene.host.units, scene.clock, until=30)  # type: ignore[assignment]
    assert scene.wait() >= 30 + STABLE


def test_a_certificate_that_does_not_come_names_who_gives_it(scene: Scene) -> None:
    """Row 18: nobody approves the request. It is waited for, and then the user is told where to look."""
    scene.host.files.remove(KUBELET_CERTIFICATE)
    with pytest.raises(FlexError) as caught:
        scene.wait()
    assert "kubectl get csr" in caught.value.hint
    assert "aks-flex-node cluster setup" in caught.value.hint


def test_a_name_that_another_machine_has_is_not_waited_for(scene: Scene) -> None:
    """Row 19: time does not help, and two machines under one name would fight for it."""
    scene.put_node(nodeInfo={"kubeletVersion": f"v{VERSION}", "systemUUID": OTHER_UUID})
    with pytest.raises(FlexError) as caught:
        scene.wait()
    assert caught.value.code == "join/name-taken"
    assert not caught.value.transient
    assert OTHER_UUID in caught.value.message
    assert "node.name" in caught.value.hint
    assert scene.clock.slept == []


def test_the_same_uuid_in_capitals_is_the_same_machine(scene: Scene) -> None:
    scene.put_node(
        nodeInfo={"kubeletVersion": f"v{VERSION}", "systemUUID": UUID.upper()},
        conditions=[{"type": "Ready", "status": "True"}],
    )
    assert scene.wait() == STABLE


def test_a_runtime_that_can_start_no_pod_is_not_waited_for_where_that_stays_so(scene: Scene) -> None:
    """A node whose runc lacks seccomp goes Ready, and runs nothing."""
    scene.host.runtime.sandbox_failure = HostError("seccomp is not supported", code="host/no-seccomp")
    with pytest.raises(HostError, match="seccomp"):
        scene.wait()
    assert scene.clock.slept == []


def test_no_cluster_is_asked_before_the_node_is_well_here(scene: Scene) -> None:
    scene.fault = "PLEG is not healthy"
    with pytest.raises(FlexError):
        scene.wait(seconds=30)
    assert scene.cluster.requests == []


@pytest.mark.parametrize("unit", [CONTAINERD, KUBELET])
def test_a_service_that_is_started_again_begins_its_20_seconds_anew(scene: Scene, unit: str) -> None:
    """Row 20: one that crashes every 15 seconds is Ready for most of the time."""
    scene.clock.at(15, lambda: scene.host.units.crash(unit))
    assert 35 <= scene.wait() <= 36


def test_a_service_that_keeps_crashing_never_counts_as_ready(scene: Scene) -> None:
    for moment in range(15, 400, 15):
        scene.clock.at(moment, lambda: scene.host.units.crash(KUBELET))
    with pytest.raises(FlexError) as caught:
        scene.wait()
    assert caught.value.code in ("node/unstable", "node/silent")


def test_ready_counts_only_with_a_lease_that_this_kubelet_renewed(scene: Scene) -> None:
    """A Node stays Ready for some 40 seconds after its kubelet died."""
    scene.clock.at(15, lambda: scene.host.units.crash(KUBELET))
    scene.clock.at(16, lambda: scene.set(renewing=False))
    with pytest.raises(FlexError) as caught:
        scene.wait()
    assert caught.value.code == "node/silent"


def test_a_lease_counts_although_the_clock_was_set_back(scene: Scene) -> None:
    """Row 15: a machine's clock is put right when the network comes, so often in the middle of this."""
    scene.cluster.put(LEASE_PATH, lease(scene.clock, ago=86400))
    scene.renewing = False

    def renew() -> None:
        scene.cluster.put(LEASE_PATH, lease(scene.clock, ago=86390))

    scene.clock.at(10, renew)
    assert scene.wait() == STABLE


def test_a_broken_api_server_rolls_nothing_back(scene: Scene) -> None:
    """An hour of outage, a node that is well and was joined before: the deadline waits with it."""
    scene.clock.at(5, lambda: refuse_all(scene.cluster))
    scene.clock.at(3600, lambda: answer_again(scene.cluster))
    assert 3600 <= scene.wait(seconds=60) <= 3660
    assert any("the server is starting" in note for note in scene.books.notes)


def test_an_outage_gives_back_its_own_time_and_no_more(scene: Scene) -> None:
    scene.put_node(conditions=NOT_READY)
    scene.clock.at(30, lambda: refuse_all(scene.cluster))
    scene.clock.at(1030, lambda: answer_again(scene.cluster))
    with pytest.raises(FlexError) as caught:
        scene.wait(seconds=60)
    assert caught.value.code == "node/not-ready"
    assert 1058 <= scene.clock.monotonic() <= 1062


def test_an_outage_excuses_no_node_that_is_not_well_itself(scene: Scene) -> None:
    refuse_all(scene.cluster)
    scene.fault = "PLEG is not healthy"
    with pytest.raises(FlexError) as caught:
        scene.wait(seconds=60)
    assert caught.value.code == "node/kubelet-unhealthy"
    assert scene.clock.monotonic() <= 61


def test_a_first_join_does_not_wait_for_ever_for_an_api_server(scene: Scene) -> None:
    """Row 16: until its time is over; then the machine rests, and says why."""
    scene.host.files.remove(KUBELET_CERTIFICATE)
    refuse_all(scene.cluster)
    scene.clock.at(20, lambda: scene.host.files.place(KUBELET_CERTIFICATE, "certificate"))
    with pytest.raises(FlexError) as caught:
        scene.wait(seconds=60)
    assert caught.value.code == "kube/server-error"
    assert caught.value.transient
    assert scene.clock.monotonic() <= 61


def test_what_the_api_server_refuses_is_no_outage(scene: Scene) -> None:
    """A certificate that is not accepted does not get better with time."""
    refuse_all(scene.cluster, 401, "who are you")
    with pytest.raises(FlexError) as caught:
        scene.wait()
    assert caught.value.code == "kube/unauthorized"
    assert scene.clock.slept == []


def test_a_wait_can_be_stopped(scene: Scene) -> None:
    scene.put_node(conditions=NOT_READY)
    scene.clock.at(30, lambda: scene.set(stopped=True))
    with pytest.raises(Stopped):
        scene.wait()
    assert scene.clock.monotonic() == 30


def test_one_connection_serves_the_whole_wait(scene: Scene) -> None:
    scene.wait()
    assert scene.connected == 1
