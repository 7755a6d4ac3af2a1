"""How fast a download goes: refuses one that crawls, and tells people about the others."""

from __future__ import annotations

from collections import deque

from flexnode.artifacts.failures import Code, failure, render_size
from flexnode.clock import Clock


class RateWatch:
    """Watches one stream. `window` is how long it may stay below `least` bytes per second."""

    def __init__(self, clock: Clock, *, least: float, window: float) -> None:
        self._clock = clock
        self._least = least
        self._window = window
        self._latest = (clock.monotonic(), 0)
        self._samples = deque([self._latest])

    def feed(self, count: int) -> None:
        """Count bytes that arrived; artifact/too-slow once a whole window stayed below the least rate."""
        now = self._clock.monotonic()
        self._latest = (now, self._latest[1] + count)
        if now - self._samples[-1][0] >= self._window / 20:  # a sample per chunk would be far too many
            self._samples.append(self._latest)
        # Keep one sample that is at least a window old: it is what "a whole window" is measured against.
        while len(self._samples) > 1 and now - self._samples[1][0] >= self._window:
            self._samples.popleft()
        if now - self._samples[0][0] >= self._window and self.rate() < self._least:
            raise failure(
                Code.TOO_SLOW,
                f"only {render_size(self.rate())}/s over {self._window:g} s,"
                f" less than {render_size(self._least)}/s",
            )

    def rate(self) -> float:
        """Bytes per second over the last window."""
        (first, before), (last, after) = self._samples[0], self._latest
        return (after - before) / (last - first) if last > first else 0.0


def describe(arrived: int, total: int | None, rate: float) -> str:
    """`34 MB of 58 MB, 12 MB/s`: what a person watching a download wants to know."""
    amount = render_size(arrived) if total is None else f"{render_size(arrived)} of {render_size(total)}"
    return f"{amount}, {render_size(rate)}/s" if rate else amount
