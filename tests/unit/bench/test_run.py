"""Which parts run, and that nothing is started for those that do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from flexlab.bench import run
from flexlab.bench.bench import Bench
from flexlab.bench.report import Measurement
from flexlab.lab import Lab
from flexlab.model import LabSpec, Suite
from flexnode.clock import SystemClock
from flexnode.progress import Silent

LAB = Lab(folder=Path("/nonexistent"), spec=LabSpec(name="bench", kubernetes="1.34.4", suite=Suite.BOOKWORM))


@dataclass(kw_only=True, slots=True)
class Fakes:
    """Parts that measure nothing: each figure tells how many came before it."""

    labs: int = 0
    benches: list[Bench] = field(default_factory=list)

    def measure(self, *parts: str) -> list[str]:
        figures = run.measure(
            parts,
            self._bring_up,
            Silent(),
            SystemClock(),
            rounds=2,
            start_up=lambda _progress, _clock: iter([figure("start-up", 0.5)]),
            in_lab={name: partial(self._part, name) for name in run.IN_LAB},
        )
        load, *others = [each.name for each in figures]
        assert load == run.tell_load(1.0, 2).name
        return others

    def _bring_up(self) -> Lab:
        self.labs += 1
        return LAB

    def _part(self, name: str, bench: Bench) -> Iterator[Measurement]:
        self.benches.append(bench)
        yield figure(name, float(len(bench.known)))


def figure(name: str, value: float) -> Measurement:
    return Measurement(name=name, value=value, unit="s")


def test_all_parts_share_one_lab_and_know_what_was_found_before() -> None:
    fakes = Fakes()
    assert fakes.measure(*run.PARTS) == list(run.PARTS)
    assert fakes.labs == 1
    assert dict(fakes.benches[-1].known) == {"start-up": 0.5, "power-on": 1.0, "joins": 2.0, "agent": 3.0}


def test_a_part_can_be_measured_again_alone() -> None:
    fakes = Fakes()
    assert fakes.measure("joins") == ["joins"]
    assert (fakes.labs, len(fakes.benches)) == (1, 1)


def test_what_needs_no_machine_starts_none() -> None:
    fakes = Fakes()
    assert fakes.measure("start-up") == ["start-up"]
    assert (fakes.labs, fakes.benches) == (0, [])


def test_a_crowded_machine_is_told_of() -> None:
    assert run.tell_load(2.5, 2).missed
    assert not run.tell_load(1.5, 2).missed
