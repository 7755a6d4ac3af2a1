"""The floor: how fast a machine can be a node from power-on, with static units and no agent."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from flexlab import handmade, machine
from flexlab.bench.bench import Bench, Subject, open_subject
from flexlab.bench.report import Measurement
from flexlab.cluster import start_node
from flexlab.control_plane import run_kubectl

BOOT = "stock VM, first power-on to SSH"
READY = "static units, power-on to Ready"
POD = "static units, power-on to a running pod"

ENABLED = "enabled"
"""The snapshot of a machine that is off, and becomes a node when it is switched on."""


def measure_power_on(bench: Bench) -> Iterator[Measurement]:
    readies: list[float] = []
    pods: list[float] = []
    with open_subject(bench, "floor") as subject:
        yield Measurement(name=BOOT, value=subject.boot, unit="s")
        with bench.progress.step("stage a node by hand"):
            handmade.install(bench.lab, subject.node, subject.parts)
            handmade.start_node_services(bench.lab, subject.node, now=False)
            machine.power_off(bench.lab, subject.node, bench.clock)
        subject.remember(ENABLED)
        for number in range(1, bench.rounds + 1):
            subject.return_to(ENABLED)
            begin = bench.clock.monotonic()
            with bench.progress.step(f"power on, round {number}"):
                start_node(bench.lab, subject.node, bench.progress, bench.clock)
                subject.wait_until_ready()
                readies.append(bench.clock.monotonic() - begin)
            with bench.progress.step(f"a pod, round {number}"):
                name = f"floor-{number}"
                handmade.run_pod(bench.lab, subject.parts, name, subject.node)
                pods.append(bench.clock.monotonic() - begin)
            _forget_pod(subject, name)
            machine.power_cut(bench.lab, subject.node)
    ready = statistics.median(readies)
    yield Measurement(name=READY, value=ready, unit="s", compared_with=BOOT, reference=subject.boot)
    yield Measurement(name=POD, value=statistics.median(pods), unit="s", compared_with=READY, reference=ready)


def _forget_pod(subject: Subject, name: str) -> None:
    words = ("--force", "--grace-period=0", "--ignore-not-found")
    run_kubectl(subject.bench.lab, subject.parts, "delete", "pod", name, *words)
