"""The fault matrix, rows 1, 3 and 22, for whole flows: from a configuration to a cluster that shows the node.

The activation walk dies at every single moment of a small generation. Here the generation is that of a real
node, and everything around it takes part: the checks, the cluster's answers, the store, kubelet. So many
moments are too many for each run; every flow is walked at a stride, and at the first and last moment of each
kind of step.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from flexnode.flows.going_back import prepare_boot, recover, rollback
from flexnode.flows.unbootstrap import unbootstrap
from flexnode.generation import Result
from unit.flows.samples import NODE_PATH
from unit.flows.world import World, open_world
from unit.generation.samples import Crash

pytestmark = pytest.mark.slow

STRIDE = 13
"""A prime, so that it does not keep step with anything that recurs."""

OLDER, NEWER = {"versions": {"kubernetes": "1.34"}}, {"versions": {"kubernetes": "1.35"}}


@dataclass
class Plug:
    """Counts what happens to the machine, and pulls the plug at one of these moments."""

    fatal: int = -1
    seen: list[str] = field(default_factory=list)

    def tick(self, moment: str) -> None:
        self.seen.append(moment)
        if len(self.seen) - 1 == self.fatal:
            raise Crash(moment)


@dataclass(frozen=True, kw_only=True)
class Flow:
    """What is asked for, again and again until it is so."""

    name: str
    ask: Callable[[World], object]
    prepare: Callable[[World], object] = lambda _world: None

    def __str__(self) -> str:
        return self.name


def go_back(world: World) -> object:
    """A person who sees that it has been done does not ask again."""
    state = world.directory.load_state().value
    assert state is not None
    return None if state.rejected else rollback(world.workplace, seconds=300)


def leave(world: World) -> object:
    return unbootstrap(world.workplace)


def upgraded(world: World) -> None:
    world.bootstrap(**OLDER)
    world.bootstrap(**NEWER)


FLOWS = [
    Flow(name="bootstrap", ask=lambda world: world.bootstrap(**OLDER)),
    Flow(
        name="change",
        prepare=lambda world: world.bootstrap(**OLDER),
        ask=lambda world: world.bootstrap(**OLDER, kubelet={"maxPods": 42}),
    ),
    Flow(
        name="upgrade",
        prepare=lambda world: world.bootstrap(**OLDER),
        ask=lambda world: world.bootstrap(**NEWER),
    ),
    Flow(name="rollback", prepare=upgraded, ask=go_back),
    Flow(name="prepare", ask=lambda world: world.prepare(**OLDER)),
    Flow(
        name="join",
        prepare=lambda world: world.prepare(**OLDER),
        ask=lambda world: world.bootstrap(**OLDER),
    ),
    Flow(name="undo", prepare=lambda world: world.prepare(**OLDER), ask=leave),
    Flow(name="unbootstrap", prepare=lambda world: world.bootstrap(**OLDER), ask=leave),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a thing: a walk writes durably some ten thousand times."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


@contextmanager
def open_scene(folder: Path, flow: Flow) -> Iterator[World]:
    folder.mkdir()
    with open_world(folder) as world:
        flow.prepare(world)
        yield world


def ending(world: World) -> dict[str, Any]:
    node = world.cluster.get(NODE_PATH)
    snapshot = world.host.snapshot()
    for state in snapshot["files"].values():
        # Each machine has a server of its own, on a port of its own, and a certificate from it.
        if b"https://127.0.0.1:" in state.get("data", b"") or b"BEGIN CERTIFICATE" in state.get("data", b""):
            state["data"] = b"about the cluster"
    return {
        "host": snapshot,
        "current": world.memory()["current"] is not None,
        "desired": world.memory()["desired"],
        "journal": world.memory()["journal"],
        "version": node["status"]["nodeInfo"]["kubeletVersion"] if node else None,
        "cordoned": bool(node and node["spec"].get("unschedulable")),
    }


def choose(seen: list[str]) -> list[int]:
    """At a stride, and where anything is started, stopped or restarted: there most is at stake."""
    units = [
        number for number, moment in enumerate(seen) if "kubelet.service" in moment and "write" not in moment
    ]
    return sorted({*range(0, len(seen), STRIDE), *units, len(seen) - 1})


@pytest.mark.parametrize("flow", FLOWS, ids=str)
@pytest.mark.parametrize("reboot", [False, True], ids=["next-run", "boot"])
def test_a_flow_that_was_cut_off_ends_as_if_nothing_had_happened(
    flow: Flow, reboot: bool, folder: Path
) -> None:
    """`reboot`: what runs at boot comes first, then what the agent does; otherwise the user asks again."""
    with open_scene(folder / "undisturbed", flow) as world:
        plug = Plug()
        world.host.hook = plug.tick
        flow.ask(world)
        wanted = ending(world)
    assert len(plug.seen) > 3
    for number in choose(plug.seen):
        with open_scene(folder / str(number), flow) as world:
            world.host.hook = Plug(fatal=number).tick
            with pytest.raises(Crash):
                flow.ask(world)
            world.host.hook = lambda _moment: None
            if reboot:
                prepare_boot(world.workplace, spec=world.resolved().spec)
                recover(world.workplace, spec=world.resolved().spec)
            flow.ask(world)
            assert ending(world) == wanted, f"died {plug.seen[number]}"
            assert world.books.open == []


def test_a_machine_whose_preparation_was_cut_off_becomes_the_same_node(folder: Path) -> None:
    """What was begun ahead of the join is gone on with by the join itself."""
    with open_scene(folder / "undisturbed", FLOWS[0]) as world:
        world.bootstrap(**OLDER)
        wanted = ending(world)
    with open_scene(folder / "seen", FLOWS[0]) as world:
        plug = Plug()
        world.host.hook = plug.tick
        world.prepare(**OLDER)
    for number in choose(plug.seen):
        with open_scene(folder / str(number), FLOWS[0]) as world:
            world.host.hook = Plug(fatal=number).tick
            with pytest.raises(Crash):
                world.prepare(**OLDER)
            world.host.hook = lambda _moment: None
            world.bootstrap(**OLDER)
            assert ending(world) == wanted, f"died {plug.seen[number]}"


def test_a_node_that_was_cut_off_while_it_left_does_not_come_back(folder: Path) -> None:
    """Nothing but the user's own word makes it a node again: not a boot, not a recovery."""
    flow = FLOWS[-1]
    with open_scene(folder / "scene", flow) as world:
        world.host.hook = Plug(fatal=3).tick
        with pytest.raises(Crash):
            flow.ask(world)
        world.host.hook = lambda _moment: None
        outcome = recover(world.workplace)
        assert outcome is not None
        assert outcome.result is Result.LEFT
        assert world.cluster.get(NODE_PATH) is None
