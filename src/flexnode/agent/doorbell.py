"""What wakes the agent: its time, a file that changed, a signal."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol


class Readable(Protocol):
    """Something with a file descriptor; a negative one never wakes anybody."""

    def fileno(self) -> int: ...


class Bell(Protocol):
    """`stop`: somebody asked the agent to end. `again`: somebody asked it to read everything again."""

    stop: bool
    again: bool

    def wait(self, seconds: float, sources: Sequence[Readable] = ()) -> None:
        """Return after that time, or earlier: when a source can be read, or somebody asked for something."""
        ...


class Doorbell:
    """A `Bell` that signals ring: SIGTERM and SIGINT to stop, SIGHUP to read again."""

    def __init__(self) -> None:
        self.stop = False
        self.again = False
        self._reader, self._writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def wait(self, seconds: float, sources: Sequence[Readable] = ()) -> None:
        if self.stop or self.again:
            return
        poll = select.poll()
        poll.register(self._reader, select.POLLIN)
        for source in sources:
            if source.fileno() >= 0:
                poll.register(source.fileno(), select.POLLIN)
        poll.poll(max(0.0, seconds) * 1000)
        with suppress(BlockingIOError):
            os.read(self._reader, 4096)

    @contextmanager
    def hung_up(self) -> Iterator[None]:
        """Signals are heard while the block runs. Python handles them between two steps of this thread."""

        def stop(_number: int, _frame: object) -> None:
            self.stop = True

        def again(_number: int, _frame: object) -> None:
            self.again = True

        handlers = {signal.SIGTERM: stop, signal.SIGINT: stop, signal.SIGHUP: again}
        # The pipe is what makes a signal end the wait at once: it arrives there even before its handler runs.
        heard = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(heard)

    def close(self) -> None:
        os.close(self._reader)
        os.close(self._writer)
