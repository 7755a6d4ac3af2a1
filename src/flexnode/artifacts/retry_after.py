"""How long a server asks to be left alone."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def parse_retry_after(value: str | None, now: datetime) -> float | None:
    """The seconds that a Retry-After header asks for, as a number or an HTTP date; None if it says nothing.

    Never negative: a date in the past means "now". Capping is the retry's business.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        # More digits than any sane pause has: still a number, and the cap makes it one minute or two.
        return float(text[:12])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:  # "-0000" or no zone: HTTP dates are always GMT
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
