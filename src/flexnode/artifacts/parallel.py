"""A few jobs at once, ended together: the first failure stops the rest, and so does Ctrl-C."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from flexnode.artifacts.failures import Code, local_failure
from flexnode.clock import Clock

T = TypeVar("T")

PATIENCE = 2.0
"""How long an interrupted call waits for its threads to notice, in seconds."""


class Stop:
    """Tells running work that nobody wants its result any more."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def check(self) -> None:
        if self._event.is_set():
            raise local_failure(Code.CANCELLED, "the download was stopped")


class StoppableSleep:
    """A clock whose sleep ends early, with artifact/cancelled, once the work was stopped."""

    def __init__(self, clock: Clock, stop: Stop) -> None:
        self._clock = clock
        self._stop = stop
        self.now = clock.now
        self.monotonic = clock.monotonic

    def sleep(self, seconds: float) -> None:
        end = self._clock.monotonic() + seconds
        while (rest := end - self._clock.monotonic()) > 0:
            self._stop.check()
            self._clock.sleep(min(rest, 0.5))
        self._stop.check()


def run_parallel(jobs: Sequence[Callable[[], T]], *, workers: int, stop: Stop) -> list[T]:
    """The results of `jobs`, in their order; the first failure stops the others and is raised.

    The threads are daemons: a thread that hangs in a system call delays neither Ctrl-C nor the exit.
    """
    waiting: queue.SimpleQueue[tuple[int, Callable[[], T]]] = queue.SimpleQueue()
    for numbered in enumerate(jobs):
        waiting.put(numbered)
    done: queue.SimpleQueue[tuple[int, T | BaseException, bool]] = queue.SimpleQueue()

    def work() -> None:
        while True:
            try:
                number, job = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                stop.check()
                done.put((number, job(), True))
            except BaseException as error:
                # Here, so that this thread takes up nothing more; and after the failure, which is told first.
                done.put((number, error, False))
                stop.set()

    threads = [
        threading.Thread(target=work, name=f"fetch-{number}", daemon=True)
        for number in range(min(workers, len(jobs)))
    ]
    for thread in threads:
        thread.start()
    results: dict[int, T] = {}
    failed: BaseException | None = None
    try:
        for _ in jobs:
            number, outcome, succeeded = done.get()
            if succeeded:
                results[number] = outcome  # type: ignore[assignment]  # the flag says which of the two it is
            elif failed is None:
                failed = outcome  # type: ignore[assignment]
    except BaseException:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
        raise
    if failed is not None:
        raise failed
    return [results[number] for number in range(len(jobs))]
