"""The one retry helper."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import TypeVar

from flexnode.clock import Clock
from flexnode.errors import FlexError

T = TypeVar("T")

RETRY_AFTER_CAP = 120.0
"""A server may ask for patience, not for an afternoon."""


def retry(
    step: Callable[[], T],
    *,
    delays: Iterable[float],
    clock: Clock,
    jitter: float = 0.2,
    on_retry: Callable[[FlexError, float], None] = lambda _error, _delay: None,
) -> T:
    """Run `step` until it succeeds; after a transient FlexError wait for the next delay, at the end raise it.

    A terminal error is raised at once. An error that carries `retry_after` waits at least that long, capped.
    """
    for delay in delays:
        try:
            return step()
        except FlexError as error:
            if not error.transient:
                raise
            pause = delay * (1 + random.uniform(-jitter, jitter))  # noqa: S311 spreads load, guards nothing
            if error.retry_after is not None:
                pause = max(pause, min(error.retry_after, RETRY_AFTER_CAP))
            on_retry(error, pause)
            clock.sleep(pause)
    return step()
