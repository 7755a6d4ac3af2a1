"""The one retry helper, and what servers say about when to try again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TypeVar

from flexnode.clock import Clock
from flexnode.errors import FlexError

T = TypeVar("T")

RETRY_AFTER_CAP = 120.0
"""A server may ask for patience, not for an afternoon."""


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """The seconds that a Retry-After header asks for, as a number or an HTTP date; None if it says nothing.

    Never negative: a date in the past means "now". Capping is the retry's business.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        # More digits than any sane pause has: still a number, and the cap makes it one minute or two.
        return float(text[:12])
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:  # "-0000" or no zone: HTTP dates are always GMT
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


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
