"""What an activation tells while it runs: every step's begin and end, and how long it took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Protocol

import msgspec

from flexnode.clock import Clock


class Moment(StrEnum):
    """Where in a step an observer is called."""

    BEGIN = "begin"
    END = "end"
    FAILED = "failed"


class Name(StrEnum):
    """The steps. Those with a key tell which resource or unit they are about."""

    STAGE = "stage"
    PLAN = "plan"
    DRAIN = "drain"
    APPLY = "apply"
    RESTART = "restart"
    REBOOT = "reboot"
    VERIFY = "verify"
    CONFIRM = "confirm"
    UNCORDON = "uncordon"
    ROLL_BACK = "roll-back"
    COLLECT = "collect"
    JOURNAL = "journal"
    LEDGER = "ledger"
    STATE = "state"


_WRITES = frozenset({Name.JOURNAL, Name.LEDGER, Name.STATE})
"""Too small and too many to be timed."""


class Observer(Protocol):
    """For progress, events, and tests that pull the plug."""

    def __call__(self, moment: Moment, name: Name, key: str, /) -> None: ...


class Timing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How long a step took."""

    name: Name
    seconds: float
    key: str = ""


class Steps:
    """Tells one observer, and adds up the time."""

    def __init__(self, observer: Observer, clock: Clock) -> None:
        self._observer = observer
        self._clock = clock
        self.timings: list[Timing] = []

    @contextmanager
    def step(self, name: Name, key: str = "") -> Iterator[None]:
        self._observer(Moment.BEGIN, name, key)
        started = self._clock.monotonic()
        try:
            yield
        except Exception:
            self._observer(Moment.FAILED, name, key)
            raise
        finally:
            if name not in _WRITES:
                seconds = round(self._clock.monotonic() - started, 3)
                self.timings.append(Timing(name=name, key=key, seconds=seconds))
        self._observer(Moment.END, name, key)


def watch_nothing(_moment: Moment, _name: Name, _key: str, /) -> None:
    """An observer that does not care."""
