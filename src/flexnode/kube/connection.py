"""Where an API server is, whom to trust there, and as whom to come."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from flexnode.kube.failures import Code, failure
from flexnode.secret import Secret


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientCertificate:
    """A certificate (PEM) and its key, held in memory."""

    certificate: str
    key: Secret


@dataclass(frozen=True, kw_only=True, slots=True)
class ClientCertificateFiles:
    """A certificate and its key in files, which may be the same one. Read again when they change."""

    certificate: Path
    key: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenFile:
    """A file that holds a token. Read again when it changes."""

    path: Path


Credential = ClientCertificate | ClientCertificateFiles | Secret | TokenFile
"""As whom to come; a bare Secret is a bearer token."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Connection:
    """A way to a cluster. The server's certificate is always verified; there is no switch for that."""

    server: str  # https://HOST[:PORT][/PATH]
    ca: str = ""  # PEM; empty: the authorities that the machine trusts
    credential: Credential | None = None  # None: anonymous
    proxy: Secret | None = None  # the URL of the proxy for this server; None: connect directly
    server_name: str = ""  # the name to expect in the server's certificate; empty: the one in `server`


def parse_server(text: str) -> str:
    """The address of an API server, without a slash at its end. No message quotes a password in it."""
    try:
        parts = urlsplit(text.strip())
        _ = parts.port  # parsed only when asked for
    except ValueError:
        # Neither quoted nor chained: what cannot be taken apart may hold a password anywhere.
        raise failure(Code.BAD_SERVER, "the API server's address is not a URL") from None
    if parts.scheme != "https" or not parts.hostname or parts.username is not None:
        raise failure(Code.BAD_SERVER, f"{parts.scheme}://{parts.hostname or ''} is not an API server's URL")
    if parts.query or parts.fragment:
        raise failure(Code.BAD_SERVER, f"an API server's URL has no query: {text!r}")
    return text.strip().rstrip("/")
