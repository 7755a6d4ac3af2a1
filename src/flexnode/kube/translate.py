"""The one place where what HTTP, TLS, DNS and the API server say becomes a failure with a code and a kind."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from flexnode.clock import Clock
from flexnode.errors import KubeError
from flexnode.kube.connection import Connection
from flexnode.kube.failures import Code, failure
from flexnode.kube.skew import explain_validity
from flexnode.retry import parse_retry_after
from flexnode.secret import Secret

QUOTED = 400
"""How much of an answer a message quotes, in characters."""

_OUT_OF_TIME = {9: "not valid yet", 10: "expired"}  # X509_V_ERR_CERT_NOT_YET_VALID, ..._HAS_EXPIRED


class Cause(msgspec.Struct, frozen=True):
    """One of the reasons behind a refusal."""

    reason: str = ""
    message: str = ""


class Details(msgspec.Struct, frozen=True, rename="camel"):
    """What a refusal is about."""

    causes: tuple[Cause, ...] | None = None
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True):
    """The API server's own words about a failure."""

    kind: str = ""
    message: str = ""
    reason: str = ""
    details: Details | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """The circumstances of a call: whom, as whom, when. The token is here so that nothing can quote it."""

    connection: Connection
    clock: Clock
    what: str = ""  # GET /api/v1/nodes
    token: Secret | None = None

    def redact(self, text: str) -> str:
        """`text` on one line, without the token."""
        if self.token is not None and self.token.reveal():
            text = text.replace(self.token.reveal(), Secret.MASK)
        return " ".join(text.split())[:QUOTED]


def translate_error(error: Exception, asked: Asked) -> KubeError:
    """The failure behind an exception of httpx."""
    import httpx

    server, proxied = asked.connection.server, asked.connection.proxy is not None
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _untrusted(cause, asked)
        if isinstance(cause, socket.gaierror):
            whose = "the proxy's name" if proxied else f"the name of {server}"
            return failure(Code.DNS, f"{whose} cannot be looked up: {cause.strerror}")
    detail = f": {asked.redact(str(error))}" if str(error) else ""
    match error:
        case httpx.ProxyError():
            if str(error).startswith("407"):
                return failure(Code.PROXY_AUTH, f"the proxy to {server} asks for a user and password")
            return failure(Code.PROXY, f"the proxy refuses to connect to {server}{detail}")
        case httpx.ConnectError() if any(isinstance(cause, ssl.SSLError) for cause in causes):
            return failure(Code.TLS_FAILED, f"{server} accepts no TLS connection{detail}")
        case httpx.ConnectError() | httpx.ConnectTimeout() if proxied:
            return failure(Code.PROXY, f"the proxy to {server} cannot be reached{detail}")
        case httpx.ConnectError() | httpx.ConnectTimeout():
            return failure(Code.UNREACHABLE, f"the API server {server} cannot be reached{detail}")
        case httpx.TimeoutException():
            return failure(Code.TIMEOUT, f"{server} did not answer {asked.what} in time")
        case httpx.InvalidURL() | httpx.UnsupportedProtocol() | httpx.LocalProtocolError() | UnicodeError():
            return failure(Code.BAD_SERVER, f"{server} cannot be asked{detail}")
        case httpx.DecodingError() | httpx.TooManyRedirects():
            return failure(Code.BAD_RESPONSE, f"the answer of {server} to {asked.what} is broken{detail}")
        case httpx.StreamError() | httpx.CookieConflict():
            return failure(Code.CLIENT_BUG, f"{asked.what}{detail}")
    return failure(Code.CONNECTION_LOST, f"the connection to {server} broke in {asked.what}{detail}")


def translate_status(code: int, headers: Mapping[str, str], body: bytes, asked: Asked) -> KubeError:
    """The failure behind an answer that is not a success."""
    status = parse_status(body)
    page = looks_like_page(body, headers)
    if page and code < 500 and status is None:
        return failure(
            Code.BAD_RESPONSE, f"a web page (HTTP {code}) answers {asked.what}, not the API server"
        )
    details = (status.details if status else None) or Details()
    causes = {cause.reason: cause.message for cause in details.causes or ()}
    said = asked.redact(status.message if status else "" if page else body.decode(errors="replace"))
    if budget := causes.get("DisruptionBudget"):
        said = asked.redact(f"{said} {budget}")
    pause = parse_retry_after(headers.get("Retry-After"), asked.clock.now())
    if pause is None and details.retry_after_seconds:
        pause = float(details.retry_after_seconds)
    kind = _classify(code, status.reason if status else "", causes)
    words = f": {said}" if said else ""
    return failure(kind, f"{asked.what}: HTTP {code}{words}", retry_after=pause)


def parse_status(body: bytes) -> Status | None:
    """The Status object that a body is; None if it is something else."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return status if status.kind == "Status" else None


def looks_like_page(body: bytes, headers: Mapping[str, str]) -> bool:
    """Whether an answer is a web page."""
    start = body[:512].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    html = "html" in headers.get("Content-Type", "").lower()
    return start.startswith((b"<!doctype html", b"<html")) or (html and start.startswith(b"<"))


def _classify(code: int, reason: str, causes: Mapping[str, str]) -> Code:
    if code == 401:
        return Code.UNAUTHORIZED
    if code == 403:
        return Code.NAMESPACE_TERMINATING if "NamespaceTerminating" in causes else Code.FORBIDDEN
    if code == 404:
        return Code.NOT_FOUND
    if code == 407:
        return Code.PROXY_AUTH
    if code == 409:
        return Code.ALREADY_EXISTS if reason == "AlreadyExists" else Code.CONFLICT
    if code == 410:
        return Code.EXPIRED
    if code == 429:
        return Code.DISRUPTION_BUDGET if "DisruptionBudget" in causes else Code.THROTTLED
    if code == 511 or code < 400:
        return Code.BAD_RESPONSE
    return Code.SERVER_ERROR if code >= 500 or code in (408, 425) else Code.INVALID


def _untrusted(error: ssl.SSLCertVerificationError, asked: Asked) -> KubeError:
    if reason := _OUT_OF_TIME.get(error.verify_code):
        return explain_validity(asked.connection, asked.clock, reason)
    said = error.verify_message or error.reason
    return failure(Code.TLS_UNTRUSTED, f"the certificate of {asked.connection.server} is not trusted: {said}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__
