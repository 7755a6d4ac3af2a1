"""A length of time is the same wherever somebody writes it."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.duration import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("1m30s", 90),
        ("1h", 3600),
        ("1.5m", 90),
        (".5s", 0.5),
        ("500ms", 0.5),
        ("0s", 0),
        ("7d", 604800),
        ("0.1s0.2s", 0.3),
    ],
)
def test_it_is_read_as_kubernetes_does(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "90", "h", "1w", "1 h", "-1h", "1h-30m", "1h30", "٣s", "1s\n"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no length of time"):
        parse_duration(text)


@given(st.text())
def test_no_text_is_a_crash(text: str) -> None:
    with suppress(ValueError):
        assert parse_duration(text) >= 0
