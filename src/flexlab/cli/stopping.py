"""What was begun is ended, also when somebody does not want to wait for it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def ending_with(end: Callable[[], object]) -> Iterator[None]:
    """Call `end` however the block ends: SIGTERM and Ctrl-C end it too, and do not disturb `end`."""

    def interrupt(_number: int, _frame: object) -> None:
        _ignore()
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in SIGNALS}
    try:
        try:
            yield
        finally:
            _ignore()
            end()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ignore() -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
