"""The one way to ask a server whose certificate cannot be verified yet: without any credential.

What comes back is a claim. It is used for two things only: a CA that proves itself by a signature or a pinned
hash (`trust.py`), and to tell a wrong clock from a wrong certificate (`skew.py`).
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime

from flexnode.kube.connection import Connection
from flexnode.kube.failures import Code, failure

MAX_CLAIM = 1 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """What somebody who answers at the server's address says. `certificate` (DER) is the one they showed."""

    status: int
    body: bytes
    date: datetime | None
    certificate: bytes


def ask_unverified(connection: Connection, path: str, *, timeout: float = 10.0) -> Claim:
    """GET `path` anonymously. Its failures are those of httpx: only the caller knows what they mean."""
    import httpx

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    proxy = None if connection.proxy is None else connection.proxy.reveal()
    with (
        httpx.Client(verify=context, trust_env=False, timeout=timeout, proxy=proxy) as client,
        client.stream("GET", connection.server + path, headers={"Accept": "application/json"}) as response,
    ):
        tls = response.extensions["network_stream"].get_extra_info("ssl_object")
        certificate = tls.getpeercert(True) if tls is not None else b""
        body = b""
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > MAX_CLAIM:
                raise failure(Code.BAD_RESPONSE, f"the answer of {connection.server} is far too large")
        return Claim(
            status=response.status_code,
            body=body,
            date=parse_date(response.headers.get("Date")),
            certificate=certificate or b"",
        )


def parse_date(text: str | None) -> datetime | None:
    """The moment that a Date header names; None if it names none."""
    try:
        moment = parsedate_to_datetime(text or "")
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else None
