"""How long a server asks to be left alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.retry import parse_retry_after

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("0", 0),
        (" 120 ", 120),
        ("Thu, 01 Jan 2026 12:00:30 GMT", 30),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0),
        ("Thursday, 01-Jan-26 12:01:00 GMT", 60),
        ("Thu Jan  1 12:02:00 2026", 120),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW) == seconds


@given(st.integers(0, 10**6))
def test_a_date_means_the_same_as_the_seconds_until_then(seconds: int) -> None:
    moment = format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)
    assert parse_retry_after(moment, NOW) == parse_retry_after(str(seconds), NOW) == seconds


@given(st.text(max_size=40))
def test_no_header_is_a_crash_or_a_negative_pause(value: str) -> None:
    pause = parse_retry_after(value, NOW)
    assert pause is None or pause >= 0
