"""The parts of a benchmark by name, one after the other, each figure as soon as it is known."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from flexlab.bench.agent import measure_agent
from flexlab.bench.bench import Bench
from flexlab.bench.joins import measure_joins
from flexlab.bench.power_on import measure_power_on
from flexlab.bench.report import Measurement
from flexlab.bench.start_up import measure_start_up
from flexlab.lab import Lab
from flexnode.clock import Clock
from flexnode.progress import Progress

START_UP = "start-up"

StartUp = Callable[[Progress, Clock], Iterator[Measurement]]
InLab = Mapping[str, Callable[[Bench], Iterator[Measurement]]]

IN_LAB: InLab = {
    "power-on": measure_power_on,
    "joins": measure_joins,
    "agent": measure_agent,
}

PARTS = (START_UP, *IN_LAB)


def measure(
    parts: Sequence[str],
    bring_up: Callable[[], Lab],
    progress: Progress,
    clock: Clock,
    *,
    rounds: int,
    timeline: Path | None = None,
    start_up: StartUp = measure_start_up,
    in_lab: InLab = IN_LAB,
) -> Iterator[Measurement]:
    """Those parts, in their usual order. A lab is brought up when the first of them needs one."""
    known: dict[str, float] = {}
    yield tell_load(os.getloadavg()[0], os.cpu_count() or 1)
    if START_UP in parts:
        # Before there is a lab: its machines would take turns with what is measured.
        for measurement in start_up(progress, clock):
            known[measurement.name] = measurement.value
            yield measurement
    wanted = [name for name in in_lab if name in parts]
    if not wanted:
        return
    bench = Bench(
        lab=bring_up(), rounds=rounds, progress=progress, clock=clock, timeline=timeline, known=known
    )
    for name in wanted:
        for measurement in in_lab[name](bench):
            known[measurement.name] = measurement.value
            yield measurement


def tell_load(load: float, processors: int) -> Measurement:
    """How busy the machine was with other things: in a crowd, times say little but beside each other."""
    return Measurement(
        name="load of this machine before",
        value=load,
        unit="processes",
        compared_with="its processors",
        reference=float(processors),
        bar=True,
    )
