"""pytest fixtures: a lab, a stock machine, a fault. Load them with `pytest_plugins = ["flexlab.testing"]`.

A lab is brought up once for a test session, and each machine is booted once; each test then gets it as it was
right after its first boot, disk and memory, in seconds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from flexlab import machine, network
from flexlab.artifact_server import Fault, add_fault, clear_faults
from flexlab.cluster import Request, add_node, bring_up, parts_of, take_down
from flexlab.control_plane import run_kubectl
from flexlab.gateway import GatewayFaults, save_faults
from flexlab.lab import Lab, require_lab
from flexlab.model import NodeSpec, Suite
from flexlab.parts import Parts, available_kubernetes
from flexnode.clock import Clock, SystemClock
from flexnode.host import Completed
from flexnode.progress import Silent

STOCK = "stock"


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """A machine of a test: it belongs to the test alone and is as a stock machine is after its boot."""

    lab: Lab
    node: NodeSpec

    def run(self, *argv: str, timeout: float = 120, expect: tuple[int, ...] = (0,)) -> Completed:
        return machine.run(self.lab, self.node, argv, timeout=timeout, expect=expect)

    def sh(self, script: str, timeout: float = 120, expect: tuple[int, ...] = (0,)) -> str:
        return self.run("sh", "-c", script, timeout=timeout, expect=expect).text


@dataclass(frozen=True, kw_only=True, slots=True)
class LabUnderTest:
    """The session's lab, and what a test does with it."""

    name: str
    clock: Clock = field(default_factory=SystemClock)

    @property
    def lab(self) -> Lab:
        return require_lab(self.name)

    @property
    def parts(self) -> Parts:
        return parts_of(self.lab)

    def kubectl(
        self, *arguments: str, stdin: bytes = b"", timeout: float = 120, expect: tuple[int, ...] = (0,)
    ) -> str:
        done = run_kubectl(self.lab, self.parts, *arguments, stdin=stdin, timeout=timeout, expect=expect)
        return done.text + done.stderr.decode(errors="replace")

    def stock_machine(self, name: str, suite: Suite = Suite.BOOKWORM) -> Machine:
        """A stock machine of that name: booted now if the session has not had it, else brought back."""
        lab = self.lab
        if any(node.name == name for node in lab.spec.nodes):
            machine.restore(lab, lab.spec.node(name), STOCK)
        else:
            lab, node = add_node(lab, name, suite, Silent(), self.clock)
            machine.snapshot(lab, node, STOCK)
        return Machine(lab=lab, node=lab.spec.node(name))


@dataclass(frozen=True, kw_only=True, slots=True)
class Faults:
    """Breaks things for one test; what it broke is mended when the test is over."""

    lab: Lab
    clock: Clock

    def line(self, of: Machine, impairment: network.Impairment) -> None:
        network.impair(self.lab, of.node, impairment, self.clock)

    def mend_line(self, of: Machine) -> None:
        network.mend(self.lab, of.node)

    def artifacts(self, fault: Fault) -> None:
        add_fault(self.lab.faults, fault)

    def gateway(self, faults: GatewayFaults) -> None:
        save_faults(self.lab.gateway, faults)


@pytest.fixture(scope="session")
def session_lab() -> Iterator[LabUnderTest]:
    """A control plane with all its services, for the whole session."""
    name = f"test-{os.getpid()}"
    clock = SystemClock()
    try:
        request = Request(name=name, nodes=0, suite=Suite.BOOKWORM, kubernetes=available_kubernetes()[0])
        bring_up(request, Silent(), clock)
        yield LabUnderTest(name=name)
    finally:
        take_down(name, clock)


@pytest.fixture
def make_machine(session_lab: LabUnderTest) -> Iterator[Callable[..., Machine]]:
    """Stock machines by name, e.g. `make_machine("edge1", suite=Suite.TRIXIE)`; off after the test."""
    made: list[Machine] = []

    def make(name: str, suite: Suite = Suite.BOOKWORM) -> Machine:
        made.append(session_lab.stock_machine(name, suite))
        return made[-1]

    yield make
    for one in made:
        # Off between tests: a machine that nobody looks at would take the processor from those that follow.
        machine.power_cut(one.lab, one.node)


@pytest.fixture
def stock_machine(make_machine: Callable[..., Machine]) -> Machine:
    """One stock Debian 12 machine."""
    return make_machine("edge1")


@pytest.fixture
def fault(session_lab: LabUnderTest) -> Iterator[Faults]:
    """Something to break the network and the gateway with."""
    lab = session_lab.lab
    yield Faults(lab=lab, clock=session_lab.clock)
    save_faults(lab.gateway, GatewayFaults())
    clear_faults(lab.faults)
    for node in session_lab.lab.spec.nodes:
        network.mend(session_lab.lab, node)
