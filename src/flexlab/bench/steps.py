"""The steps of a bootstrap as its records tell them, put together into rows that people can read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

START = "the program starts"
CHECKS = "look at the machine and its cluster"
BETWEEN = "between the steps"

_MANY = ("apply", "restart")
"""Steps that come one for each thing, with its key. The others have the generation as their key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What was done, and when: in seconds from the moment that is measured from."""

    name: str
    begin: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.begin


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """What is told as one: a step, or many small ones of a kind."""

    label: str
    steps: tuple[Step, ...]

    @property
    def begin(self) -> float:
        return self.steps[0].begin

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)


class _Event(msgspec.Struct, frozen=True):
    at: datetime
    step: str = ""
    key: str = ""
    start: datetime | None = None


class _Provision(msgspec.Struct, frozen=True):
    started: datetime


def parse_steps(events: bytes, provision: bytes, origin: float) -> tuple[Step, ...]:
    """The steps since `origin` (seconds since 1970, by the clock of the machine that wrote the records)."""
    started = msgspec.json.decode(provision, type=_Provision).started.timestamp() - origin
    steps = [
        Step(
            name=f"{event.step} {event.key}" if event.step in _MANY else event.step,
            begin=event.start.timestamp() - origin,
            end=event.at.timestamp() - origin,
        )
        for event in (msgspec.json.decode(line, type=_Event) for line in events.splitlines())
        if event.step and event.start and event.start.timestamp() >= origin
    ]
    steps.sort(key=lambda step: step.begin)
    first = steps[0].begin if steps else started
    return (
        Step(name=START, begin=0.0, end=started),
        Step(name=CHECKS, begin=started, end=max(started, first)),
        *steps,
    )


def find_begin(steps: Iterable[Step], name: str) -> float | None:
    """When the first step of that name began."""
    return min((step.begin for step in steps if step.name == name), default=None)


def cut(steps: Iterable[Step], until: float) -> tuple[Step, ...]:
    """What of the steps lies before a moment."""
    return tuple(replace(step, end=min(step.end, until)) for step in steps if step.begin < until)


def shift(steps: Iterable[Step], seconds: float) -> tuple[Step, ...]:
    """The same steps, told from an earlier moment."""
    return tuple(replace(step, begin=step.begin + seconds, end=step.end + seconds) for step in steps)


def compose_rows(steps: Sequence[Step], *, least: float) -> tuple[Row, ...]:
    """A row for each name, in order; of the steps that come in numbers, those below `least` share one."""
    rows: dict[str, list[Step]] = {}
    small: dict[str, list[Step]] = {}
    for step in steps:
        kind, _, key = step.name.partition(" ")
        if key and kind in _MANY and step.seconds < least:
            small.setdefault(kind, []).append(step)
        else:
            rows.setdefault(step.name, []).append(step)
    for kind, many in small.items():
        rows[f"{kind}, {len(many)} below {least:g} s"] = many
    found = (Row(label=label, steps=tuple(each)) for label, each in rows.items())
    return tuple(sorted(found, key=lambda row: row.begin))


def find_gaps(steps: Sequence[Step], until: float) -> float:
    """The seconds up to `until` in which no step ran: records are written then, for the most part."""
    covered, reached = 0.0, 0.0
    for step in sorted(steps, key=lambda step: step.begin):
        begin, end = max(step.begin, reached), min(step.end, until)
        if end > begin:
            covered += end - begin
            reached = end
    return max(0.0, until - covered)
