"""The agent beside the floor: a stock machine to Ready, a join with everything fetched, the agent at rest."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from typing import Any

from flexlab import handmade, machine, node_agent
from flexlab.bench.report import Measurement
from flexlab.cluster import add_node, parts_of, remove_node
from flexlab.control_plane import run_kubectl
from flexlab.lab import Lab
from flexlab.model import NodeSpec, Suite
from flexlab.parts import Parts
from flexnode.clock import Clock
from flexnode.progress import Progress

STAGED_STORE = "staged-store"

PROVISION = "/var/lib/aks-flex-node/provision.json"
RESIDENT = "awk '/VmRSS/ {print $2}' /proc/$(systemctl show -p MainPID --value aks-flex-node-agent)/status"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Bench:
    lab: Lab
    node: NodeSpec
    parts: Parts
    progress: Progress
    clock: Clock

    def run(self, command: str) -> str:
        return machine.run(self.lab, self.node, command, timeout=900).text

    def begin_at(self, snapshot: str) -> None:
        machine.restore(self.lab, self.node, snapshot)
        run_kubectl(self.lab, self.parts, "delete", "node", self.node.name, "--ignore-not-found", "--wait")

    def time_to_ready(self, title: str, command: str) -> float:
        """Seconds from the command's start until the cluster says Ready, whatever else it does."""
        with self.progress.step(title):
            begin = self.clock.monotonic()
            self.run(command)
            handmade.wait_until_ready(self.lab, self.node, self.parts, timeout=600)
            return self.clock.monotonic() - begin


def measure_agent(
    lab: Lab, rounds: int, progress: Progress, clock: Clock, floor: list[Measurement]
) -> list[Measurement]:
    """`floor` are the figures of the same run that these are compared with."""
    lab, node = add_node(lab, "agent", Suite.BOOKWORM, progress, clock)
    bench = _Bench(lab=lab, node=node, parts=parts_of(lab), progress=progress, clock=clock)
    try:
        node_agent.prepare(node_agent.Terminal(lab=lab, node=node, progress=progress), bench.parts)
        cold = bench.time_to_ready("stock machine to Ready", "systemctl enable --now aks-flex-node-agent")
        with progress.step("the agent comes to rest"):
            bench.run(f"until test -e {PROVISION}; do sleep 1; done; sleep 5")
        steps = json.loads(bench.run(f"cat {PROVISION}"))["timings"]
        resident = int(bench.run(RESIDENT)) / 1024
        with progress.step("leave again; what was fetched stays"):
            bench.run("systemctl disable --now aks-flex-node-agent && aks-flex-node unbootstrap --yes")
        machine.snapshot(lab, node, STAGED_STORE)
        staged = []
        for number in range(rounds):
            bench.begin_at(STAGED_STORE)
            # In the background: `bootstrap` itself goes on to watch the node after it is Ready.
            command = "systemd-run --quiet --collect aks-flex-node bootstrap"
            staged.append(
                bench.time_to_ready(f"bootstrap with everything fetched, round {number + 1}", command)
            )
    finally:
        remove_node(lab, node)
    known = {each.name: each.value for each in floor}
    return [
        _beside("agent, installed to Ready", cold, "static units, power-on to Ready", known),
        *_steps(steps),
        _beside(
            "agent, bootstrap with everything fetched to Ready",
            statistics.median(staged),
            "kubeadm join to Ready",
            known,
        ),
        Measurement(
            name="agent at rest, resident", value=resident, unit="MB", compared_with="the bar", reference=45.0
        ),
    ]


def _beside(name: str, value: float, other: str, known: dict[str, float]) -> Measurement:
    return Measurement(name=name, value=value, unit="s", compared_with=other, reference=known.get(other))


def _steps(timings: list[dict[str, Any]]) -> list[Measurement]:
    """How long each kind of step took in all."""
    spent: dict[str, float] = {}
    for timing in timings:
        spent[timing["name"]] = spent.get(timing["name"], 0.0) + timing["seconds"]
    return [Measurement(name=f"  of it: {name}", value=seconds, unit="s") for name, seconds in spent.items()]
