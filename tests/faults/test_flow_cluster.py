"""The fault matrix, rows 11 to 19, for whole flows: a cluster that cannot be asked, or wants no such node.

The API server is real as far as sockets and TLS go. A terminal failure is said at once; one that may pass is
waited for as long as the operation may take, and ends well where it passes in that time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from faults.isolation import run_isolated
from faults.raw_server import answering, closed_port
from faults.scene import TERMINAL, TRANSIENT, Scene, open_scene
from faults.test_artifact_faults import NAME_SERVER
from flexlab.pki import create_authority
from flexnode.agent.assess import Phase
from flexnode.components.layout import CONTAINERD, KUBELET
from flexnode.errors import Kind
from flexnode.generation import Desired
from unit.flows.samples import NODE_PATH, OTHER_UUID, ready_node
from unit.flows.world import TOKEN, World
from unit.kube.api_server import Reply

GONE, WAITS = Kind.TERMINAL, Kind.TRANSIENT
PATIENCE = 90.0
OLDER, NEWER = {"kubernetes": "1.34"}, {"kubernetes": "1.35"}
PAGE = Reply(body=b"<!DOCTYPE html><title>Sign in</title>", headers={"Content-Type": "text/html"})
NO_CONTENT = b"Content-Length: 0\r\n\r\n"
RESERVATION = 3


@dataclass(frozen=True, kw_only=True)
class Case:
    """`broken` and `mended` change the world; `sections` are what is wrong with the configuration."""

    name: str
    code: str
    kind: Kind
    broken: Callable[[World], object] = lambda _world: None
    mended: Callable[[World], object] = lambda _world: None
    sections: Callable[[World], dict[str, Any]] = lambda _world: {}

    def __str__(self) -> str:
        return self.name


def show_page(world: World) -> None:
    world.front = lambda _seen: PAGE


def open_again(world: World) -> None:
    world.front = lambda _seen: None


def throttle(world: World) -> None:
    slow_down = Reply(status=429, body=b"{}", headers={"Retry-After": "7"})
    world.front = lambda _seen: slow_down


def elsewhere(world: World, **cluster: str) -> dict[str, Any]:
    return {"cluster": {"server": world.server.url, "ca": world.server.ca, **cluster}}


CASES = [
    Case(name="login-page", code="kube/bad-response", kind=GONE, broken=show_page, mended=open_again),
    Case(
        name="another-authority",
        code="kube/tls-untrusted",
        kind=GONE,
        sections=lambda world: elsewhere(world, ca=create_authority("stranger").certificate.decode()),
    ),
    Case(
        name="clock-a-day-ahead",
        code="kube/clock",
        kind=WAITS,
        broken=lambda world: setattr(world.clock, "ahead", timedelta(days=1)),
        mended=lambda world: setattr(world.clock, "ahead", timedelta(0)),
    ),
    Case(
        name="clock-a-day-behind",
        code="kube/clock",
        kind=WAITS,
        broken=lambda world: setattr(world.clock, "ahead", timedelta(days=-1)),
        mended=lambda world: setattr(world.clock, "ahead", timedelta(0)),
    ),
    Case(
        name="starting",
        code="kube/server-error",
        kind=WAITS,
        broken=lambda world: setattr(world, "api_down", True),
        mended=lambda world: setattr(world, "api_down", False),
    ),
    Case(
        name="down",
        code="kube/unreachable",
        kind=WAITS,
        sections=lambda world: elsewhere(world, server=f"https://127.0.0.1:{closed_port()}"),
    ),
    Case(name="throttled", code="kube/throttled", kind=WAITS, broken=throttle, mended=open_again),
    Case(
        name="wrong-token",
        code="kube/unauthorized",
        kind=GONE,
        broken=lambda world: setattr(world, "accepted", "000000.0000000000000000"),
        mended=lambda world: setattr(world, "accepted", TOKEN),
    ),
    Case(
        name="name-taken",
        code="preflight/node-name-taken",
        kind=GONE,
        broken=lambda world: world.cluster.put(NODE_PATH, theirs()),
        mended=lambda world: world.cluster.remove(NODE_PATH),
    ),
]


def theirs() -> dict[str, Any]:
    return ready_node(nodeInfo={"kubeletVersion": "v1.35.1", "systemUUID": OTHER_UUID})


def break_it(case: Case, scene: Scene) -> None:
    case.broken(scene.world)
    if sections := case.sections(scene.world):
        scene.configure(**sections)


def mend_it(case: Case, scene: Scene) -> None:
    case.mended(scene.world)
    if case.sections(scene.world):
        scene.configure(cluster=scene.world.config["cluster"])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_machine_that_cannot_join_is_not_touched_and_says_why(case: Case) -> None:
    with open_scene() as scene:
        break_it(case, scene)
        before = scene.world.host.snapshot(times=True)
        begin = scene.world.clock.monotonic()
        ended = scene.type("bootstrap", "--timeout", f"{PATIENCE:.0f}s")
        waited = scene.world.clock.monotonic() - begin
        assert (ended.code, ended.kind) == (case.code, case.kind), ended.err
        assert ended.status == (TRANSIENT if case.kind is WAITS else TERMINAL)
        assert (PATIENCE / 2 < waited <= PATIENCE) if case.kind is WAITS else waited < 5
        assert ended.failure["hint"]
        assert TOKEN not in ended.err + str(ended.data)
        assert scene.world.host.snapshot(times=True) == before
        assert scene.world.memory() == {"current": None, "desired": None, "journal": False}
        assert (scene.provision.result, scene.provision.code) == ("failed", case.code)
        assert scene.provision.kind == case.kind.value
        mend_it(case, scene)
        assert scene.type("bootstrap").status == 0


@pytest.mark.parametrize("case", [each for each in CASES if each.kind is WAITS and each.broken], ids=str)
def test_what_passes_in_time_needs_nobody_who_tries_again(case: Case) -> None:
    with open_scene() as scene:
        case.broken(scene.world)
        scene.world.clock.at(40, lambda: case.mended(scene.world))
        ended = scene.type("bootstrap", "--timeout", "2m")
        assert ended.status == 0, ended.err
        assert scene.provision.code == "ok"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_daemon_says_why_a_machine_is_no_node_yet_and_joins_it_when_it_can(case: Case) -> None:
    with open_scene() as scene:
        break_it(case, scene)
        before = scene.world.host.snapshot(times=True)
        status = scene.live(15)
        assert status.failure is not None
        assert (status.failure.code, status.failure.kind) == (case.code, case.kind)
        assert status.phase == (Phase.WAITING if case.kind is WAITS else Phase.RESTING)
        assert (status.retry_at is not None) == (case.kind is WAITS)
        assert scene.world.host.snapshot(times=True) == before
        mend_it(case, scene)
        if case.kind is GONE and not case.sections(scene.world):
            asked = len(scene.world.server.seen)
            scene.live(900)
            assert len(scene.world.server.seen) == asked, "what cannot pass by itself was tried again"
            scene.bell.again = True
        assert scene.live(400).failure is None
        assert scene.world.memory()["current"]


OUTAGES = [
    each for each in CASES if each.name in ("login-page", "starting", "throttled", "clock-a-day-ahead")
]


@pytest.mark.parametrize("case", OUTAGES, ids=str)
def test_a_change_waits_for_the_cluster_and_the_node_goes_on_as_it_is(case: Case) -> None:
    with open_scene(versions=OLDER) as scene:
        scene.join()
        current = scene.world.memory()["current"]
        scene.live(5)
        case.broken(scene.world)
        scene.world.host.writes.clear()
        scene.configure(versions=NEWER)
        status = scene.live(45)
        assert status.failure is not None
        assert (status.failure.code, status.failure.kind) == (case.code, case.kind)
        assert scene.world.host.writes == []
        assert scene.world.memory() == {"current": current, "desired": Desired.JOINED, "journal": False}
        case.mended(scene.world)
        scene.bell.again = case.kind is GONE
        assert scene.live(400).failure is None
        assert scene.world.memory()["current"] != current


@pytest.mark.parametrize(
    ("case", "code"),
    [
        (case, "kube/server-error" if case.name == "starting" else case.code)
        for case in OUTAGES
        if case.name != "clock-a-day-ahead"
    ],
    ids=str,
)
def test_a_node_whose_cluster_cannot_be_asked_stays_until_it_can_or_is_forced(case: Case, code: str) -> None:
    """Its services run on: pods must not die with a cluster that is merely away."""
    with open_scene() as scene:
        before = scene.world.host.snapshot()
        scene.join()
        case.broken(scene.world)
        ended = scene.type("unbootstrap", "--yes")
        assert (ended.code, ended.kind) == (code, case.kind)
        assert ended.status == (TRANSIENT if case.kind is WAITS else TERMINAL)
        assert "--force" in ended.failure["hint"]
        assert all(scene.world.host.units.is_active(unit) for unit in (CONTAINERD, KUBELET))
        assert scene.world.memory()["desired"] is Desired.LEFT
        ended = scene.type("unbootstrap", "--yes", "--force")
        assert ended.status == RESERVATION
        assert "kubectl delete node" in str(ended.data["reservations"])
        assert scene.world.host.snapshot() == before
        assert scene.world.memory()["current"] is None


def test_who_was_asked_to_leave_goes_by_itself_once_the_cluster_is_back() -> None:
    with open_scene() as scene:
        before = scene.world.host.snapshot()
        scene.join()
        scene.world.api_down = True
        assert scene.type("unbootstrap", "--yes").status == TRANSIENT
        scene.live(60)
        scene.world.api_down = False
        assert scene.live(400).phase == Phase.IDLE
        assert scene.world.host.snapshot() == before
        assert scene.world.cluster.get(NODE_PATH) is None


class TestProxies:
    """Row 14, with a cluster that can only be reached through one."""

    def configure(self, scene: Scene, proxy: str) -> None:
        scene.configure(**elsewhere(scene.world, server="https://10.0.0.1:6443"), proxy={"https": proxy})

    def test_one_that_is_down_is_waited_for(self) -> None:
        with open_scene() as scene:
            self.configure(scene, f"http://127.0.0.1:{closed_port()}")
            ended = scene.type("bootstrap", "--timeout", "30s")
            assert (ended.status, ended.kind) == (TRANSIENT, WAITS), ended.err
            assert ended.code == "kube/proxy"
            assert scene.world.host.writes == []

    def test_one_that_wants_a_password_is_said_at_once(self) -> None:
        with open_scene() as scene, answering(b"HTTP/1.1 407 No\r\n" + NO_CONTENT) as proxy:
            self.configure(scene, proxy.url.replace("://", "://user:hunter2@"))
            ended = scene.type("bootstrap")
            assert (ended.status, ended.kind) == (TERMINAL, GONE), ended.err
            assert ended.code == "kube/proxy-auth"
            assert "hunter2" not in ended.err + str(ended.data)
            assert scene.world.clock.monotonic() < 5
            assert scene.world.host.writes == []


NAMES = f"""
import json, socket, sys, threading
sys.path.insert(0, {str(Path(__file__).resolve().parents[1])!r})
from faults.scene import open_scene

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
def answer():
    while True:
        question, client = server.recvfrom(4096)
        if not SILENT:
            server.sendto(question[:2] + b"\\x81\\x83" + question[4:6] + bytes(6) + question[12:], client)
threading.Thread(target=answer, daemon=True).start()

with open_scene() as scene:
    cluster = scene.world.config["cluster"]
    scene.configure(cluster={{**cluster, "server": "https://api.example:6443"}})
    ended = scene.type("bootstrap", "--timeout", "20s")
    waited = scene.world.clock.monotonic()
    scene.configure(cluster=cluster)
    joined = scene.type("bootstrap").status
    print(json.dumps({{"status": ended.status, "waited": waited, "joined": joined, **ended.failure}}))
"""


@pytest.mark.parametrize(
    ("silent", "code", "kind", "status"),
    [
        (True, "preflight/dns-no-answer", "transient", TRANSIENT),
        (False, "preflight/dns-unknown-name", "terminal", TERMINAL),
    ],
    ids=["timeout", "nxdomain"],
)
def test_a_name_that_nobody_knows_is_told_from_name_servers_that_do_not_answer(
    tmp_path: Path, silent: bool, code: str, kind: str, status: int
) -> None:
    """Row 13. A resolver that is still starting is asked a few times."""
    told = run_isolated(NAMES.replace("SILENT", str(silent)), setup=NAME_SERVER, folder=tmp_path)
    assert (told["code"], told["kind"], told["status"]) == (code, kind, status)
    assert "api.example" in told["message"]
    assert (told["waited"] > 10) == silent
    assert told["joined"] == 0


@pytest.mark.parametrize("jump", [timedelta(days=1), timedelta(days=-1)], ids=["forward", "back"])
def test_a_clock_that_jumps_in_the_middle_neither_ends_nor_prolongs_anything(jump: timedelta) -> None:
    """Row 15: when the time is set for the first time, as on a machine without a battery."""
    with open_scene() as scene:
        scene.configure()
        scene.world.host.hook = lambda moment: (
            setattr(scene.world.clock, "ahead", jump) if "kubelet.service" in moment else None
        )
        ended = scene.type("bootstrap", "--timeout", "2m")
        assert ended.status == 0, ended.err
        assert scene.world.clock.monotonic() < 60
        scene.boot()
        scene.live(30)
        scene.world.clock.ahead = timedelta(0)
        status = scene.live(120)
        assert status.healthy
        assert status.failure is None


class TestCertificateThatDoesNotCome:
    """Row 18: nobody approves what kubelet asks for."""

    def test_it_is_waited_for_and_then_left_to_be_gone_on_with(self) -> None:
        with open_scene() as scene:
            scene.world.approves = False
            ended = scene.type("bootstrap", "--timeout", "2m")
            assert (ended.status, ended.code, ended.kind) == (TRANSIENT, "join/no-certificate", WAITS)
            assert ended.data["result"] == "unconfirmed"
            assert "kubectl get csr" in ended.failure["hint"]
            assert 120 <= scene.world.clock.monotonic() < 125
            assert (scene.provision.result, scene.provision.code) == ("unconfirmed", "join/no-certificate")
            assert scene.world.memory() == {"current": None, "desired": Desired.JOINED, "journal": True}
            scene.world.approves = True
            assert scene.type("bootstrap").status == 0
            assert not scene.world.memory()["journal"]

    def test_the_daemon_goes_on_until_it_comes(self) -> None:
        with open_scene(agent={"bootstrapTimeout": "2m"}) as scene:
            scene.world.approves = False
            status = scene.live(300)
            assert status.failure is not None
            assert (status.failure.code, status.failure.kind) == ("join/no-certificate", WAITS)
            assert status.phase == Phase.WAITING
            scene.world.approves = True
            assert scene.live(600).failure is None
            assert scene.world.memory()["current"]

    def test_it_can_leave_without_ever_having_joined(self) -> None:
        with open_scene() as scene:
            before = scene.world.host.snapshot()
            scene.world.approves = False
            scene.type("bootstrap", "--timeout", "1m")
            assert scene.type("unbootstrap", "--yes").status == 0
            assert scene.world.host.snapshot() == before


def test_patience_ends_at_once_when_somebody_asks_to_stop() -> None:
    with open_scene() as scene:
        asked: list[bool] = []
        scene.world.api_down = True
        scene.world.stop = lambda: bool(asked)
        scene.world.clock.at(20, lambda: asked.append(True))
        ended = scene.type("bootstrap")
        assert ended.code == "generation/stopped"
        assert scene.world.clock.monotonic() < 22
