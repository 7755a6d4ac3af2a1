"""Moments as the API writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def render_time(moment: datetime) -> str:
    """To the second, in UTC: metav1.Time takes nothing finer."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
