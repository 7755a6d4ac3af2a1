"""The fault matrix, row 15: a clock that is off makes a good certificate look bad, and must be named."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from flexlab.pki import CertificateAuthority, create_authority
from flexnode.clock import FakeClock, SystemClock
from flexnode.errors import KubeError
from flexnode.kube import KubeClient, Request
from flexnode.kube.skew import render_offset
from flexnode.secret import Secret
from unit.kube.api_server import SERVER, Reply, always, as_json, serve

TOKEN = Secret("abcdef.0123456789abcdef")


def dated(moment: datetime) -> Reply:
    return as_json({}, headers={"Date": format_datetime(moment.astimezone(UTC), usegmt=True)})


def failing(authority: CertificateAuthority, server_time: datetime, *, days: float) -> KubeError:
    """Ask a server whose time is `server_time`, with a certificate that `authority` made."""
    identity = replace(SERVER, days=days)
    with (
        serve(always(dated(server_time)), authority=authority, identity=identity) as server,
        KubeClient(server.connection(credential=TOKEN), SystemClock()) as client,
        pytest.raises(KubeError) as caught,
    ):
        client.send(Request(path="/version", timeout=5))
    # Whatever was asked to find out, nobody was shown a credential.
    assert all("Authorization" not in seen.headers for seen in server.seen)
    return caught.value


def test_row_15_a_clock_that_is_ahead_is_transient_and_named() -> None:
    """By this machine the certificate has expired; by the server's own time it is good."""
    now = SystemClock().now()
    past = FakeClock(now - timedelta(days=3))
    authority = create_authority("kubernetes", clock=past, days=3650)
    error = failing(authority, past.now() + timedelta(hours=1), days=1)
    assert (error.code, error.transient) == ("kube/clock", True)
    assert "3 days ahead" in error.message
    assert "timedatectl" in error.hint


def test_row_15_a_clock_that_is_behind_is_transient_and_named() -> None:
    now = SystemClock().now()
    future = FakeClock(now + timedelta(days=2))
    authority = create_authority("kubernetes", clock=future)
    error = failing(authority, future.now() + timedelta(hours=1), days=1)
    assert (error.code, error.transient) == ("kube/clock", True)
    assert "behind" in error.message


def test_row_12_a_certificate_that_has_really_expired_is_terminal() -> None:
    """The server's own time agrees with ours: waiting helps nobody."""
    now = SystemClock().now()
    authority = create_authority("kubernetes", clock=FakeClock(now - timedelta(days=3)))
    error = failing(authority, now, days=1)
    assert (error.code, error.transient) == ("kube/tls-untrusted", False)
    assert "expired" in error.message
    assert "renewed" in error.hint


def test_row_15_a_ca_from_the_future_needs_nobody_s_word() -> None:
    """The server tells no usable time; but its CA, which we were given, cannot have been made tomorrow."""
    future = FakeClock(SystemClock().now() + timedelta(days=2))
    authority = create_authority("kubernetes", clock=future)
    identity = replace(SERVER, days=1)
    mute = as_json({}, headers={"Date": "soon"})
    with (
        serve(always(mute), authority=authority, identity=identity) as server,
        KubeClient(server.connection(), SystemClock()) as client,
        pytest.raises(KubeError) as caught,
    ):
        client.send(Request(path="/version", timeout=5))
    assert (caught.value.code, caught.value.transient) == ("kube/clock", True)


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        (timedelta(minutes=10), "10 min ahead"),
        (timedelta(hours=-3, minutes=-20), "3 h 20 min behind"),
        (timedelta(days=2), "2 days ahead"),
        (timedelta(hours=30), "30 h 00 min ahead"),
    ],
)
def test_a_distance_between_clocks_is_told_in_words(offset: timedelta, words: str) -> None:
    assert render_offset(offset) == words
