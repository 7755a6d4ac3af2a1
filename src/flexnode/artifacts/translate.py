"""The one place where what HTTP, TLS, DNS and proxies say becomes a failure with a code and a kind."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import httpx

from flexnode.artifacts.failures import Code, failure
from flexnode.artifacts.names import unresolved
from flexnode.artifacts.proxies import Proxy
from flexnode.errors import ArtifactError

# The nearest class of an exception's own line of ancestors decides.
_BY_CLASS: dict[type[BaseException], tuple[Code, str]] = {
    httpx.ConnectTimeout: (Code.CONNECT_FAILED, "did not accept a connection in time"),
    httpx.ReadTimeout: (Code.TOO_SLOW, "sent nothing for too long"),
    httpx.WriteTimeout: (Code.TOO_SLOW, "did not take the request in time"),
    httpx.PoolTimeout: (Code.CONNECT_FAILED, "no connection became free in time"),
    httpx.TimeoutException: (Code.TOO_SLOW, "did not answer in time"),
    httpx.ConnectError: (Code.CONNECT_FAILED, "cannot be reached"),
    httpx.NetworkError: (Code.CONNECTION_LOST, "the connection broke"),
    httpx.ProxyError: (Code.PROXY_REFUSED, "the proxy refused"),
    httpx.UnsupportedProtocol: (Code.BAD_SOURCE, "is not a URL of a protocol that is spoken here"),
    httpx.InvalidURL: (Code.BAD_SOURCE, "is not a URL"),
    httpx.LocalProtocolError: (Code.BAD_SOURCE, "cannot be asked for in HTTP"),
    httpx.RemoteProtocolError: (Code.CONNECTION_LOST, "the answer is not whole HTTP"),
    httpx.ProtocolError: (Code.CONNECTION_LOST, "the answer is not HTTP"),
    httpx.DecodingError: (Code.CONNECTION_LOST, "the answer cannot be decoded"),
    httpx.TooManyRedirects: (Code.REFUSED, "redirects without end"),
    httpx.HTTPError: (Code.CONNECTION_LOST, "the request failed"),
    httpx.StreamError: (Code.CLIENT_BUG, "the answer was read in the wrong order"),
    httpx.CookieConflict: (Code.CLIENT_BUG, "two cookies of one name"),
}

_CUT_SHORT = "without sending complete message body"
_CLOCK_CODES = {9: "not valid yet", 10: "expired"}  # X509_V_ERR_CERT_NOT_YET_VALID, ..._HAS_EXPIRED


def translate_error(error: Exception, *, proxy: Proxy | None = None) -> ArtifactError:
    """The failure behind an exception of httpx. `proxy` is the one that the request went through."""
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _untrusted(cause)
        if isinstance(cause, socket.gaierror):
            whose = "its name" if proxy is None else f"the name of the proxy {proxy}"
            return unresolved(cause, whose)
    code, text = next(_BY_CLASS[kind] for kind in type(error).__mro__ if kind in _BY_CLASS)
    if isinstance(error, httpx.ProxyError):
        return _proxy_answer(str(error), proxy)
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        if any(isinstance(cause, ssl.SSLError) for cause in causes):
            return failure(Code.TLS_FAILED, f"no TLS connection: {error}")
        if proxy is not None:
            return failure(Code.PROXY_REFUSED, f"the proxy {proxy} {text}: {error}")
    if isinstance(error, httpx.RemoteProtocolError) and _CUT_SHORT in str(error):
        return failure(Code.TRUNCATED, "ended before the whole file was sent")
    detail = f": {error}" if str(error) else ""
    return failure(code, text + detail)


def translate_status(
    status: int, *, proxy: Proxy | None = None, retry_after: float | None = None
) -> ArtifactError:
    """The failure behind an HTTP status that is not the file."""
    if status in (404, 410):
        return failure(Code.NOT_FOUND, f"not found (HTTP {status})")
    if status == 407:
        return _proxy_answer("407", proxy)
    if status in (401, 403):
        return failure(Code.FORBIDDEN, f"access denied (HTTP {status})")
    if status == 511:
        return failure(Code.INTERCEPTED, "the network wants a sign-in first (HTTP 511)")
    if status in (429, 503):
        pause = "" if retry_after is None else f", asks to wait {retry_after:.0f} s"
        return failure(Code.THROTTLED, f"busy (HTTP {status}{pause})", retry_after=retry_after)
    if status in (408, 425) or status >= 500:
        return failure(Code.SERVER_ERROR, f"server error (HTTP {status})", retry_after=retry_after)
    return failure(Code.REFUSED, f"unexpected answer (HTTP {status})")


def _proxy_answer(text: str, proxy: Proxy | None) -> ArtifactError:
    who = "the proxy" if proxy is None else f"the proxy {proxy}"
    if text.startswith("407"):
        return failure(Code.PROXY_AUTH, f"{who} asks for a user and password (HTTP 407)")
    return failure(Code.PROXY_REFUSED, f"{who} refused: {text}")


def _untrusted(error: ssl.SSLCertVerificationError) -> ArtifactError:
    message = f"the certificate is not trusted: {error.verify_message or error.reason}"
    if error.verify_code in _CLOCK_CODES:
        when = _CLOCK_CODES[error.verify_code]
        return failure(
            Code.UNTRUSTED_TLS,
            message,
            hint=f"the certificate is {when} by this machine's clock: check the date, then have it renewed",
        )
    return failure(Code.UNTRUSTED_TLS, message)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__
