"""Bootstrap tokens, as people ask for them."""

from __future__ import annotations

import re
from datetime import timedelta

from flexnode.errors import UsageError

_PART = re.compile(r"(\d{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def parse_ttl(text: str) -> timedelta | None:
    """How long a token is good for: 30m, 24h, 1h30m, 7d; None for 0, which is for ever."""
    if text.strip() == "0":
        return None
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.strip():
        raise UsageError(f"{text!r} is not a length of time", hint="write e.g. 30m, 24h or 7d; 0 is for ever")
    total = sum((timedelta(**{_UNITS[unit]: int(number)}) for number, unit in parts), timedelta())
    if total < timedelta(minutes=1):
        raise UsageError(f"a token for {text} is gone before anybody can use it", hint="give it some minutes")
    return total
