"""Lengths of time, as people write them."""

from __future__ import annotations

from datetime import timedelta

from flexnode.duration import parse_duration
from flexnode.errors import UsageError

LONGEST = timedelta(days=36500)


def parse_length(text: str) -> timedelta:
    """A length of time: 30s, 15m, 1h30m, 7d."""
    try:
        seconds = parse_duration(text.strip())
    except ValueError:
        seconds = float("inf")
    if seconds > LONGEST.total_seconds():
        raise UsageError(f"{text!r} is not a length of time", hint="write e.g. 30s, 15m, 24h or 7d")
    return timedelta(seconds=seconds)


def parse_ttl(text: str) -> timedelta | None:
    """How long a token is good for; None for 0, which is for ever."""
    if text.strip() == "0":
        return None
    found = parse_length(text)
    if found < timedelta(minutes=1):
        raise UsageError(f"a token for {text} is gone before anybody can use it", hint="give it some minutes")
    return found
