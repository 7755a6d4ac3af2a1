"""An agent in a world of fakes: a machine, a cluster, files, and time that passes only when it waits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from flexnode.agent.board import Board
from flexnode.agent.daemon import Agent
from flexnode.agent.doorbell import Readable
from flexnode.agent.herald import CONDITION, Herald
from flexnode.agent.inputs import Inputs
from flexnode.agent.memory import Memory
from flexnode.agent.notify import Notifier
from flexnode.agent.operate import Interrupt, Operator
from flexnode.agent.pulse import Pulse
from flexnode.agent.standing import Standings
from flexnode.clock import FakeClock
from flexnode.components.layout import KUBECONFIG, KUBELET
from flexnode.config import Resolved, digest, load_config
from flexnode.errors import KubeError
from flexnode.flows.status import STATUS_FILE, AgentStatus
from flexnode.generation import EMPTY_ID, Generation, NodeState, Outcome, Plan, compose
from flexnode.kube import Api
from flexnode.kube.fake import FakeCluster
from flexnode.kube.nodes import NODES
from flexnode.model.spec import NodeSpec
from flexnode.resources import Disruption
from unit.config.samples import SMALL
from unit.generation.samples import Lab, make_node, text
from unit.kube.samples import node

NODE = "node-1"


@dataclass
class FakeBell:
    """Waiting moves the clock, and nothing else."""

    clock: FakeClock
    stop: bool = False
    again: bool = False

    def wait(self, seconds: float, sources: Sequence[Readable] = ()) -> None:
        self.clock.sleep(seconds)


@dataclass
class FakeWatch:
    """Hears of what a test says was touched, if it is followed."""

    followed: frozenset[str] = frozenset()
    touched: set[str] = field(default_factory=set)

    def follow(self, paths: Iterable[str]) -> None:
        self.followed = frozenset(paths)
        self.touched.clear()

    def changed(self) -> frozenset[str]:
        touched, self.touched = frozenset(self.touched), set()
        return touched & self.followed

    def fileno(self) -> int:
        return -1


@dataclass
class LabWork:
    """The operations, over a real activation. A node's version of Kubernetes is what is configured of it.

    `asked` lists what was performed; `broken` ones raise.
    """

    lab: Lab
    stop: Interrupt
    asked: list[str] = field(default_factory=list)
    broken: dict[str, Exception] = field(default_factory=dict)

    def plan(self, resolved: Resolved) -> Plan:
        return self.lab.activation.plan(self._compose(resolved))

    def bootstrap(self, resolved: Resolved) -> Outcome:
        self._begin("bootstrap")
        self.lab.stop = self.stop
        return self.lab.activation.activate(
            self._compose(resolved), operation="bootstrap", inputs=digest(resolved)
        )

    def recover(self, spec: NodeSpec | None) -> Outcome | None:
        self._begin("recover")
        return self.lab.activation.recover()

    def find_differences(self, spec: NodeSpec | None) -> Plan:
        self._begin("check")
        return self.lab.activation.plan(self._current())

    def examine(self, spec: NodeSpec | None) -> Plan:
        self._begin("examine")
        return self.lab.activation.plan(self._current())

    def put_back(self, spec: NodeSpec | None, seconds: float) -> Outcome:
        self._begin("repair")
        return self.lab.activation.activate(self._current(), operation="repair", seconds=seconds)

    def release(self, spec: NodeSpec | None, seconds: float) -> Outcome:
        self._begin("release")
        return self.lab.activation.release(seconds=seconds)

    def _begin(self, name: str) -> None:
        self.asked.append(name)
        if name in self.broken:
            raise self.broken[name]

    def _compose(self, resolved: Resolved) -> Generation:
        node = make_node(kubelet=resolved.spec.machine.versions.kubernetes or "1.34.0")
        # No setting of today takes effect only with a boot: here a kernel module stands for one that does.
        modules = resolved.spec.machine.host.modules
        flags = [text(f"/etc/boot-{name}", "on\n", disruption=Disruption.REBOOT) for name in modules]
        return compose((*flags, *node.resources), needs=node.needs, kubernetes=node.kubernetes)

    def _current(self) -> Generation:
        state = self.lab.directory.load_state().value
        assert state is not None
        assert state.current is not None
        generation = self.lab.directory.load_generation(state.current).value
        assert generation is not None
        return generation


class World:
    """`boot` starts the agent as a new process over the same machine; `live` lets time pass."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = FakeClock()
        self.lab = Lab(folder=folder / "state", clock=self.clock)
        start_kubelet = self.lab.host.units.when_started[KUBELET]

        def join() -> None:
            start_kubelet()
            self.lab.host.files.place(KUBECONFIG, "as kubelet writes it")

        self.lab.host.units.when_started[KUBELET] = join
        self.cluster = FakeCluster(clock=self.clock)
        self.cluster.put(f"{NODES}/{NODE}", node(NODE))
        self.config_file = folder / "etc" / "config.json"
        self.kubelet_fault = ""
        self.reachable = True
        self.configure()
        self.boot()

    def boot(self) -> None:
        self.bell = FakeBell(clock=self.clock)
        self.config_watch, self.managed_watch = FakeWatch(), FakeWatch()
        self.notifier = Notifier()
        self.pulse = Pulse(notifier=self.notifier, clock=self.clock)
        self.inputs = Inputs(load=self._load, path=self.config_file, image=self.folder / "no-image")
        self.herald = Herald(clock=self.clock)
        interrupt = Interrupt(bell=self.bell, inputs=self.inputs, pulse=self.pulse, clock=self.clock)
        self.work = LabWork(lab=self.lab, stop=interrupt)
        self.agent = Agent(
            host=self.lab.host,
            clock=self.clock,
            inputs=self.inputs,
            standings=Standings(directory=self.lab.directory),
            operator=Operator(
                work=self.work,
                interrupt=interrupt,
                pulse=self.pulse,
                clock=self.clock,
                herald=self.herald,
                chance=lambda: 0.5,
            ),
            memory=Memory(self.lab.directory, self.clock),
            herald=self.herald,
            board=Board(self.folder / "run"),
            bell=self.bell,
            pulse=self.pulse,
            notifier=self.notifier,
            config_watch=self.config_watch,
            managed_watch=self.managed_watch,
            connect=self._connect,
            find_kubelet_fault=lambda: self.kubelet_fault,
        )
        self.agent.begin()

    def live(self, seconds: float) -> None:
        """Let the agent do what it does in that time."""
        end = self.clock.monotonic() + seconds
        for _ in range(10_000):
            pause = self.agent.turn()
            left = end - self.clock.monotonic()
            if pause >= left:
                self.clock.sleep(max(left, 0.0))
                return
            self.clock.sleep(pause)
        raise AssertionError("the agent does not come to rest")

    def configure(self, **sections: Any) -> None:
        """Write the configuration; sections go over those of the smallest one."""
        self.write_config(json.dumps({**SMALL, **sections}))

    def write_config(self, text: str) -> None:
        self.config_file.parent.mkdir(exist_ok=True)
        replacement = self.config_file.with_name("config.json~")
        replacement.write_text(text)
        replacement.chmod(0o600)
        replacement.rename(self.config_file)
        if hasattr(self, "config_watch"):
            self.config_watch.touched.add(str(self.config_file))

    def edit(self, path: str, text: str) -> None:
        """Somebody writes to a file of the machine."""
        self.lab.host.files.place(path, text)
        self.managed_watch.touched.add(path)

    @property
    def state(self) -> NodeState:
        return self.lab.directory.load_state().value or NodeState()

    @property
    def status(self) -> AgentStatus:
        return msgspec.json.decode((self.folder / "run" / STATUS_FILE).read_bytes(), type=AgentStatus)

    @property
    def condition(self) -> dict[str, Any]:
        """What the cluster was told; empty if nothing."""
        document = self.cluster.get(f"{NODES}/{NODE}")
        assert document is not None
        conditions = {each["type"]: each for each in document["status"]["conditions"]}
        return conditions.get(CONDITION, {})

    @property
    def events(self) -> list[str]:
        posted = [
            msgspec.json.decode(request.body or b"{}")
            for request in self.cluster.requests
            if request.method == "POST"
        ]
        return [event["reason"] for event in posted]

    def _load(self) -> Resolved:
        return load_config(self.config_file, image=self.folder / "no-image")

    @contextmanager
    def _connect(self, _spec: NodeSpec | None) -> Iterator[Api]:
        if not self.reachable:
            raise KubeError("nobody answers", code="kube/unreachable", transient=True)
        yield self.cluster


def leave(lab: Lab) -> Outcome:
    """A person sends the machine away."""
    outcome = lab.activation.activate(Generation(), operation="unbootstrap")
    assert outcome.generation == EMPTY_ID
    return outcome
