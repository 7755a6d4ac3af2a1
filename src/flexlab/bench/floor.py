"""The hand-made floor: how fast a node can be without any agent, and with kubeadm."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from flexlab import handmade, machine
from flexlab.bench.report import Measurement
from flexlab.cluster import add_node, parts_of, remove_node, start_node
from flexlab.control_plane import run_kubectl
from flexlab.lab import Lab
from flexlab.model import NodeSpec, Suite
from flexlab.parts import Parts
from flexnode.clock import Clock
from flexnode.progress import Progress

STAGED = "staged"
"""The snapshot of a booted machine with everything on it and kubelet not yet started."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """What the measurements work with."""

    lab: Lab
    node: NodeSpec
    parts: Parts
    progress: Progress
    clock: Clock

    def time(self, title: str, work: Callable[[], object]) -> float:
        with self.progress.step(title):
            begin = self.clock.monotonic()
            work()
            return self.clock.monotonic() - begin

    def forget_node(self) -> None:
        """Delete the Node object, so that the next join is a first one."""
        run_kubectl(self.lab, self.parts, "delete", "node", self.node.name, "--ignore-not-found", "--wait")


def measure_floor(lab: Lab, rounds: int, progress: Progress, clock: Clock) -> list[Measurement]:
    """Power-on to Ready and to a running pod; bare start and `kubeadm join`, alternating, on a booted VM."""
    lab, node = add_node(lab, "floor", Suite.BOOKWORM, progress, clock)
    bench = Bench(lab=lab, node=node, parts=parts_of(lab), progress=progress, clock=clock)
    try:
        with progress.step("stage a node by hand"):
            handmade.install(lab, node, bench.parts)
            machine.snapshot(lab, node, STAGED)
        bare, joined = _measure_joins(bench, rounds)
        boot, ready, pod = _measure_power_on(bench, rounds)
    finally:
        remove_node(lab, node)
        bench.forget_node()
    return [
        Measurement(name="stock VM, power-on to SSH", value=boot, unit="s"),
        Measurement(name="static units, kubelet start to Ready", value=bare, unit="s"),
        Measurement(
            name="kubeadm join to Ready",
            value=joined,
            unit="s",
            compared_with="static units, kubelet start to Ready",
            reference=bare,
        ),
        Measurement(
            name="static units, power-on to Ready",
            value=ready,
            unit="s",
            compared_with="stock VM, power-on to SSH",
            reference=boot,
        ),
        Measurement(
            name="static units, power-on to a running pod",
            value=pod,
            unit="s",
            compared_with="static units, power-on to Ready",
            reference=ready,
        ),
    ]


def _measure_joins(bench: Bench, rounds: int) -> tuple[float, float]:
    def start_bare() -> None:
        handmade.start_node_services(bench.lab, bench.node, now=True)
        handmade.wait_until_ready(bench.lab, bench.node, bench.parts)

    def join_with_kubeadm() -> None:
        handmade.kubeadm_join(bench.lab, bench.node)
        handmade.wait_until_ready(bench.lab, bench.node, bench.parts)

    times: dict[str, list[float]] = {"bare start": [], "kubeadm join": []}
    for number in range(rounds):
        for title, work in (("bare start", start_bare), ("kubeadm join", join_with_kubeadm)):
            machine.restore(bench.lab, bench.node, STAGED)
            bench.forget_node()
            times[title].append(bench.time(f"{title}, round {number + 1}", work))
    return statistics.median(times["bare start"]), statistics.median(times["kubeadm join"])


def _measure_power_on(bench: Bench, rounds: int) -> tuple[float, float, float]:
    lab, node = bench.lab, bench.node
    times: dict[str, list[float]] = {"boot": [], "ready": [], "pod": []}
    for number in range(rounds):
        machine.restore(lab, node, STAGED)
        machine.power_off(lab, node, bench.clock)
        bench.forget_node()

        def boot() -> None:
            start_node(lab, node, bench.progress, bench.clock)

        times["boot"].append(bench.time(f"power on, round {number + 1}", boot))
        handmade.start_node_services(lab, node, now=False)
        machine.power_off(lab, node, bench.clock)
        begin = bench.clock.monotonic()
        boot()
        with bench.progress.step("wait for Ready"):
            handmade.wait_until_ready(lab, node, bench.parts)
        times["ready"].append(bench.clock.monotonic() - begin)
        name = f"floor-{number}"
        with bench.progress.step("wait for a pod"):
            handmade.run_pod(lab, bench.parts, name, node)
        times["pod"].append(bench.clock.monotonic() - begin)
        run_kubectl(
            lab, bench.parts, "delete", "pod", name, "--force", "--grace-period=0", "--ignore-not-found"
        )
    return (
        statistics.median(times["boot"]),
        statistics.median(times["ready"]),
        statistics.median(times["pod"]),
    )
