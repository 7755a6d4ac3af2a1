"""Lengths of time, as people write them."""

from __future__ import annotations

import re
from datetime import timedelta

from flexnode.errors import UsageError

_PART = re.compile(r"(\d{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_length(text: str) -> timedelta:
    """A length of time: 30s, 15m, 1h30m, 7d."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        raise UsageError(f"{text!r} is not a length of time", hint="write e.g. 30s, 15m, 24h or 7d")
    return sum((timedelta(**{_UNITS[unit]: int(number)}) for number, unit in parts), timedelta())


def parse_ttl(text: str) -> timedelta | None:
    """How long a token is good for; None for 0, which is for ever."""
    if text.strip() == "0":
        return None
    found = parse_length(text)
    if found < timedelta(minutes=1):
        raise UsageError(f"a token for {text} is gone before anybody can use it", hint="give it some minutes")
    return found
