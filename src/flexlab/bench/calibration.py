"""CPU seconds of an emulated machine, told as seconds of this one.

The same program with the same input runs in both, and how much more the emulated machine needs for it is the
scale. Processors that are no emulation come out near one.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flexlab.bench.bench import Subject
from flexlab.bench.cpu import count_here
from flexlab.bench.start_up import Installation
from flexlab.node_agent import PROGRAM

REPEATS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """CPU seconds of the same work: here, and in the machine."""

    native: float
    machine: float

    @property
    def scale(self) -> float:
        """How many of the machine's seconds are one of ours."""
        return self.machine / self.native

    def to_native(self, seconds: float) -> float:
        return seconds / self.scale


def calibrate(native: Sequence[float], machine: Sequence[float]) -> Calibration:
    """From several samples of each: medians, since what disturbs one only ever makes it slower."""
    if not native or not machine or min(native) <= 0:
        raise ValueError("a calibration needs samples of both, and work that takes time")
    return Calibration(native=statistics.median(native), machine=statistics.median(machine))


@dataclass(frozen=True, kw_only=True, slots=True)
class Scales:
    """Weighs work in both places, again and again: what else goes on beside it changes while one measures.

    The work is the program's own: it starts, imports, reads and checks the configuration, and shows it.
    """

    subject: Subject
    here: Installation
    config: Path
    _native: list[float] = field(default_factory=list)
    _machine: list[float] = field(default_factory=list)

    def weigh(self) -> None:
        words = ("config", "show")
        with self.subject.bench.progress.step("the same work here and in the machine"):
            native = (str(self.here.program), *words, "--config", str(self.config))
            self._native.append(count_here(native, repeats=REPEATS))
            self._machine.append(self.subject.count_cpu((PROGRAM, *words), repeats=REPEATS))

    def read(self) -> Calibration:
        return calibrate(self._native, self._machine)
