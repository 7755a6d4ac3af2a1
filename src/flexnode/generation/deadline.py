"""The time that an attempt has, by a clock that does not jump."""

from __future__ import annotations

import math

from flexnode.clock import Clock


class Deadline:
    """Whoever waits for something that is not the machine's fault gives that time back with `extend`."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._started = clock.monotonic()
        self._seconds = seconds

    @classmethod
    def never(cls, clock: Clock) -> Deadline:
        return cls(clock, math.inf)

    @property
    def elapsed(self) -> float:
        return self._clock.monotonic() - self._started

    @property
    def remaining(self) -> float:
        """Seconds, never less than none."""
        return max(0.0, self._seconds - self.elapsed)

    @property
    def passed(self) -> bool:
        return self.remaining <= 0

    def extend(self, seconds: float) -> None:
        self._seconds += seconds
