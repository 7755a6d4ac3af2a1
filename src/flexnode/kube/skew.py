"""Whether a certificate is out of its time, or this machine's clock is."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from flexnode.clock import Clock
from flexnode.errors import KubeError
from flexnode.kube.connection import Connection
from flexnode.kube.der import DerError
from flexnode.kube.failures import Code, failure
from flexnode.kube.pem import parse_certificates
from flexnode.kube.unverified import Claim, ask_unverified
from flexnode.kube.x509 import Certificate, parse_certificate


def explain_validity(connection: Connection, clock: Clock, reason: str) -> KubeError:
    """The failure behind a certificate that is `reason` (expired, not valid yet) by this machine's clock.

    The server is asked for its own time. It answers unverified, and nothing hangs on its answer but whether
    trying again can help and which of two remedies the user is shown first.
    """
    import httpx

    now = clock.now()
    claim: Claim | None = None
    with suppress(httpx.HTTPError, httpx.InvalidURL, KubeError):
        claim = ask_unverified(connection, "/version", timeout=5.0)
    certificates = _read((*_authorities(connection), *((claim.certificate,) if claim else ())))
    there = claim.date if claim else None
    if there is not None and any(not _valid(each, now) and _valid(each, there) for each in certificates):
        return failure(
            Code.CLOCK,
            f"this machine's clock is {render_offset(now - there)} of the API server's, so its certificate"
            f" counts as {reason}",
        )
    if any(now < each.not_before for each in _read(_authorities(connection))):
        return failure(
            Code.CLOCK,
            f"by this machine's clock ({now:%Y-%m-%d %H:%M} UTC) the cluster's CA is not valid yet",
        )
    return failure(
        Code.TLS_UNTRUSTED,
        f"the API server's certificate is {reason} by this machine's clock ({now:%Y-%m-%d %H:%M} UTC)",
        hint="have the certificate renewed; if that date is wrong, set the clock instead",
    )


def render_offset(offset: timedelta) -> str:
    """`3 h 20 min ahead`, `2 days behind`: where a clock stands against another."""
    minutes = round(abs(offset.total_seconds()) / 60)
    days, hours = round(minutes / 1440), minutes // 60
    amount = (
        f"{days} days" if hours >= 48 else f"{hours} h {minutes % 60:02d} min" if hours else f"{minutes} min"
    )
    return f"{amount} {'ahead' if offset > timedelta() else 'behind'}"


def _authorities(connection: Connection) -> tuple[bytes, ...]:
    try:
        return parse_certificates(connection.ca)
    except ValueError:
        return ()


def _read(encoded: tuple[bytes, ...]) -> list[Certificate]:
    certificates = []
    for der in encoded:
        with suppress(DerError):  # one odd certificate says nothing about the others
            certificates.append(parse_certificate(der))
    return certificates


def _valid(certificate: Certificate, moment: datetime) -> bool:
    return certificate.not_before <= moment <= certificate.not_after
