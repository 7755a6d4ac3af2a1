"""Lengths of time, as people and Kubernetes write them."""

from __future__ import annotations

import re
from decimal import Decimal

_UNITS = {
    "ns": "1e-9",
    "us": "1e-6",
    "µs": "1e-6",
    "ms": "1e-3",
    "s": "1",
    "m": "60",
    "h": "3600",
    "d": "86400",
}
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(ns|us|µs|ms|s|m|h|d)")
_WHOLE = re.compile(f"(?:{_PART.pattern})+")


def parse_duration(text: str) -> float:
    """Seconds of 30s, 1h30m, 1.5m or 7d; a ValueError where it is none."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is no length of time")
    return float(sum(Decimal(number) * Decimal(_UNITS[unit]) for number, unit in _PART.findall(text)))
