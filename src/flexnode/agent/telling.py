"""The progress of an operation, for whoever looks at the agent meanwhile: in systemd's status and its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from flexnode.agent.notify import Notifier
from flexnode.agent.pulse import Pulse
from flexnode.clock import Clock

_PAUSE = 2.0
"""Seconds between two notes on the same step: some come with every file, or every second."""


@dataclass(kw_only=True)
class Telling:
    """A `Progress`. `told` hears each line, too: it puts it into the status file."""

    notifier: Notifier
    pulse: Pulse
    clock: Clock
    told: Callable[[str], None] = lambda _line: None
    _titles: list[str] = field(default_factory=list)
    _last: float = float("-inf")

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        self._titles.append(title)
        self._tell(title)
        try:
            yield
        finally:
            self._titles.pop()
            self.pulse.beat()

    def note(self, text: str) -> None:
        self.pulse.beat()
        if self.clock.monotonic() - self._last >= _PAUSE:
            title = self._titles[-1] if self._titles else ""
            self._tell(f"{title}: {text}" if title else text)

    def _tell(self, line: str) -> None:
        self.pulse.beat()
        self._last = self.clock.monotonic()
        self.notifier.status(line)
        self.told(line)
