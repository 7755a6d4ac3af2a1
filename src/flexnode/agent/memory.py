"""What of the agent's mind survives its process: attempts and pauses must not begin anew with every reboot.

On disk times are those of the calendar; in mind they are those of the clock that does not jump. One that lies
in the future, for somebody set the clock back, is now.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from flexnode.agent.health import Record, Records
from flexnode.agent.supervise import LONGEST_DELAY, Mind, Pause
from flexnode.clock import Clock
from flexnode.generation.directory import StateDirectory
from flexnode.generation.durable import load, remove, save
from flexnode.generation.outcome import Failure


class Marked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the agent last said on its Node object for the configuration; None: nothing yet."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    taints: tuple[str, ...] | None = None


class _Paused(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    failure: Failure
    stamp: str
    failures: int = 1
    until: datetime | None = None


class _Memory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    generation: str = ""
    config: str = ""
    pause: _Paused | None = None
    repair_pause: _Paused | None = None
    repairs: tuple[datetime, ...] = ()
    restarts: dict[str, tuple[datetime, ...]] = {}
    marked: Marked = Marked()


class Memory:
    """`agent.json` in the state directory. Damaged or gone, it is as on the agent's first day."""

    def __init__(self, directory: StateDirectory, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock
        self._saved: _Memory | None = None
        self._foreign = False  # a newer version wrote it: it is not ours to change

    def recall(self) -> tuple[Mind, Records, Marked]:
        """Raises a StateError where a newer version of the product wrote it, which then stays as it is."""
        self._foreign = True
        found = load(self._path, _Memory).value or _Memory()
        self._foreign = False
        mind = Mind(
            generation=found.generation,
            config=found.config,
            pause=self._resume(found.pause),
            repair_pause=self._resume(found.repair_pause),
            repairs=tuple(map(self._when, found.repairs)),
        )
        records = {
            name: Record(restarts=tuple(map(self._when, times))) for name, times in found.restarts.items()
        }
        return mind, records, found.marked

    def keep(self, mind: Mind, records: Records, marked: Marked) -> None:
        """Write it down, if it is not what stands there already."""
        memory = _Memory(
            generation=mind.generation,
            config=mind.config,
            pause=self._suspend(mind.pause),
            repair_pause=self._suspend(mind.repair_pause),
            repairs=tuple(map(self._date, mind.repairs)),
            restarts={
                name: tuple(map(self._date, each.restarts)) for name, each in records.items() if each.restarts
            },
            marked=marked,
        )
        if memory != self._saved and not self._foreign:
            self._directory.prepare()
            save(self._path, memory)
            self._saved = memory

    def forget(self) -> None:
        if self._path.exists() and not self._foreign:
            remove(self._path)
        self._saved = None

    @property
    def _path(self) -> Path:
        return self._directory.root / "agent.json"

    def _when(self, date: datetime) -> float:
        age = (self._clock.now() - date).total_seconds()
        return self._clock.monotonic() - max(0.0, age)

    def _date(self, moment: float) -> datetime:
        # To the second, so that what did not change is not written again for the clock's own drift.
        date = self._clock.now() - timedelta(seconds=self._clock.monotonic() - moment)
        return (date + timedelta(seconds=0.5)).replace(microsecond=0)

    def _resume(self, paused: _Paused | None) -> Pause | None:
        if paused is None:
            return None
        pause = Pause(failure=paused.failure, stamp=paused.stamp, failures=paused.failures)
        if paused.until is None:
            return pause
        left = (paused.until - self._clock.now()).total_seconds()
        return replace(pause, until=self._clock.monotonic() + min(max(left, 0.0), LONGEST_DELAY))

    def _suspend(self, pause: Pause | None) -> _Paused | None:
        if pause is None:
            return None
        until = None if pause.until is None else self._date(pause.until)
        return _Paused(failure=pause.failure, stamp=pause.stamp, failures=pause.failures, until=until)
