"""What the parts of a benchmark share: the lab, what is known so far, and a machine that is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flexlab import handmade, machine, node_agent
from flexlab.bench.cpu import count_there
from flexlab.bench.steps import Step, parse_steps
from flexlab.cluster import add_node, parts_of, remove_node
from flexlab.control_plane import run_kubectl
from flexlab.lab import Lab
from flexlab.model import NodeSpec, Suite
from flexlab.parts import Parts
from flexnode.clock import Clock
from flexnode.progress import Progress

STATE = "/var/lib/aks-flex-node"
PROVISION, EVENTS = f"{STATE}/provision.json", f"{STATE}/events.jsonl"

SAY_TIME = "date +%s.%N"


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """`known`: the figures of this run so far, by name. `timeline`: where the picture goes."""

    lab: Lab
    rounds: int
    progress: Progress
    clock: Clock
    timeline: Path | None = None
    known: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """A machine that is measured. `boot` is what its first boot took, power-on to SSH."""

    bench: Bench
    node: NodeSpec
    parts: Parts
    boot: float

    @property
    def terminal(self) -> node_agent.Terminal:
        return node_agent.Terminal(lab=self.bench.lab, node=self.node, progress=self.bench.progress)

    def run(self, command: str, *, stdin: bytes = b"", expect: tuple[int, ...] = (0,)) -> str:
        return machine.run(self.bench.lab, self.node, command, stdin=stdin, timeout=900, expect=expect).text

    def remember(self, snapshot: str) -> None:
        with self.bench.progress.step(f"remember the machine as {snapshot}"):
            machine.snapshot(self.bench.lab, self.node, snapshot)

    def return_to(self, snapshot: str) -> None:
        """As it was then, and unknown to the cluster, so that the next join is a first one."""
        with self.bench.progress.step(f"return to {snapshot}"):
            machine.restore(self.bench.lab, self.node, snapshot)
            self.leave_cluster()

    def leave_cluster(self) -> None:
        words = ("delete", "node", self.node.name, "--ignore-not-found", "--wait")
        run_kubectl(self.bench.lab, self.parts, *words)

    def wait_until_ready(self, *, timeout: float = 600) -> None:
        handmade.wait_until_ready(self.bench.lab, self.node, self.parts, timeout=timeout)

    def time(self, title: str, work: Callable[[], object]) -> float:
        """How many seconds the work takes."""
        with self.bench.progress.step(title):
            begin = self.bench.clock.monotonic()
            work()
            return self.bench.clock.monotonic() - begin

    def count_cpu(self, argv: tuple[str, ...], *, repeats: int = 1) -> float:
        return count_there(self.bench.lab, self.node, argv, repeats=repeats)

    def join(self, title: str, command: str) -> Joined:
        """Start the agent and wait: first for Ready, which is what counts, then for its records."""
        said: list[str] = []

        def start_and_wait() -> None:
            said.append(self.run(f"{SAY_TIME}; {command}"))
            self.wait_until_ready()

        seconds = self.time(title, start_and_wait)
        with self.bench.progress.step("the agent confirms it"):
            self.run(f"until test -e {PROVISION}; do sleep 1; done")
        events, provision = (self.run(f"cat {path}").encode() for path in (EVENTS, PROVISION))
        return Joined(seconds=seconds, steps=parse_steps(events, provision, origin=float(said[0])))


@dataclass(frozen=True, kw_only=True, slots=True)
class Joined:
    """A join by the agent: from its start until the cluster said Ready, and its steps, later ones too."""

    seconds: float
    steps: tuple[Step, ...]


@contextmanager
def open_subject(bench: Bench, name: str) -> Iterator[Subject]:
    """A stock machine, booted; with the block it goes, and its Node."""
    begin = bench.clock.monotonic()
    lab, node = add_node(bench.lab, name, Suite.BOOKWORM, bench.progress, bench.clock)
    subject = Subject(bench=bench, node=node, parts=parts_of(lab), boot=bench.clock.monotonic() - begin)
    try:
        yield subject
    finally:
        remove_node(lab, node)
        subject.leave_cluster()
