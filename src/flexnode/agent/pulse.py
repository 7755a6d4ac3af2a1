"""The watchdog's food: systemd hears that the agent lives for as long as its work gets on, and no longer.

A thread speaks, since the work may be waiting for a program. It asks when the work last moved, so that an
operation which hangs is not hidden by it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from flexnode.agent.notify import Notifier
from flexnode.clock import Clock

LOOP_PATIENCE = 180.0
"""Seconds between two beats of the loop, which waits a minute at most, and asks with time limits."""

WORK_PATIENCE = 2400.0
"""Seconds that one step of an operation may take: longer than any program's time limit."""

_log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Pulse:
    """`beat` is called by whoever works, from the thread that works."""

    notifier: Notifier
    clock: Clock
    _last: float = field(init=False)
    _patience: float = LOOP_PATIENCE
    _lost: bool = False

    def __post_init__(self) -> None:
        self._last = self.clock.monotonic()

    def beat(self) -> None:
        self._last = self.clock.monotonic()

    @contextmanager
    def working(self) -> Iterator[None]:
        """A step of what runs inside may be silent for longer."""
        self.beat()
        before, self._patience = self._patience, WORK_PATIENCE
        try:
            yield
        finally:
            self.beat()
            self._patience = before

    def pass_on(self) -> bool:
        """Tell systemd, if there is something to tell; answers whether there was."""
        silent = self.clock.monotonic() - self._last
        if silent <= self._patience:
            self._lost = False
            self.notifier.alive()
            return True
        if not self._lost:
            self._lost = True
            _log.error("nothing moved for %.0f s: systemd will end this process and start it anew", silent)
        return False

    @contextmanager
    def passed_on(self) -> Iterator[None]:
        """For as long as the block runs; where systemd listens."""
        limit = self.notifier.watchdog
        if limit is None:
            yield
            return
        ended = threading.Event()

        def speak() -> None:
            while not ended.wait(limit / 3):
                self.pass_on()

        thread = threading.Thread(target=speak, name="pulse", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
