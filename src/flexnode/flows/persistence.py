"""Trying again what failed for the moment before anything was changed: as long as an operation may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, repeat
from typing import TypeVar

from flexnode.clock import Clock
from flexnode.errors import FlexError
from flexnode.flows.workplace import Workplace
from flexnode.generation.apply import Stopped
from flexnode.retry import retry

T = TypeVar("T")

FIRST_DELAYS = (5.0, 10.0, 20.0, 40.0)
LAST_DELAY = 60.0

_PERSONS = ("/busy", "no-space", "disk-space", "drain/forbidden", "drain/timeout")
"""How codes end that somebody has to do something about, who shall hear of it now."""

_POLL = 1.0


def persist(attempt: Callable[[], T], *, seconds: float, workplace: Workplace) -> T:
    """What `attempt` answers; its failure at once where waiting cannot help, else once `seconds` are over.

    An attempt raises only what came before any change: what came later is in its outcome.
    """
    clock = workplace.clock
    end = clock.monotonic() + seconds

    def consider(error: FlexError, pause: float) -> None:
        passes = not isinstance(error, Stopped) and not error.code.endswith(_PERSONS)
        if not passes or clock.monotonic() + pause > end:
            raise error
        reason = error.message.splitlines()[0].rstrip(":")
        workplace.progress.note(f"{reason} ({error.code}); trying again in {pause:.0f} s")

    return retry(
        attempt,
        delays=chain(FIRST_DELAYS, repeat(LAST_DELAY)),
        clock=_Alert(clock=clock, stop=workplace.stop),
        on_retry=consider,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Alert:
    """A clock whose sleep ends as soon as somebody asks the operation to stop."""

    clock: Clock
    stop: Callable[[], bool]

    def now(self) -> datetime:
        return self.clock.now()

    def monotonic(self) -> float:
        return self.clock.monotonic()

    def sleep(self, seconds: float) -> None:
        end = self.monotonic() + seconds
        while (left := end - self.monotonic()) > 0:
            if self.stop():
                raise Stopped
            self.clock.sleep(min(left, _POLL))
