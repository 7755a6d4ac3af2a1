"""Every failure of the HTTP library has a code and a kind of its own choosing."""

from __future__ import annotations

import socket
import ssl

import httpx
import pytest

from flexnode.artifacts.failures import HINTS, Code
from flexnode.artifacts.proxies import parse_proxy
from flexnode.artifacts.translate import translate_error, translate_status


def exception_classes() -> list[type[Exception]]:
    names = sorted(dir(httpx))
    found = [getattr(httpx, name) for name in names]
    return [item for item in found if isinstance(item, type) and issubclass(item, Exception)]


def make(kind: type[Exception], message: str = "words") -> Exception:
    if issubclass(kind, httpx.HTTPStatusError):
        request = httpx.Request("GET", "https://host.example/")
        return kind(message, request=request, response=httpx.Response(500, request=request))
    if kind in (httpx.StreamConsumed, httpx.ResponseNotRead, httpx.RequestNotRead, httpx.StreamClosed):
        return kind()
    return kind(message)


def caused_by(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("kind", exception_classes(), ids=lambda kind: kind.__name__)
def test_every_exception_of_the_http_library_becomes_a_failure(kind: type[Exception]) -> None:
    error = translate_error(make(kind))
    assert error.code in set(Code)
    assert error.hint
    is_bug = issubclass(kind, httpx.StreamError | httpx.CookieConflict)
    assert (error.code == Code.CLIENT_BUG) is is_bug


def test_there_are_exceptions_to_map() -> None:
    assert len(exception_classes()) > 20


@pytest.mark.parametrize(
    ("number", "code", "transient"),
    [
        (socket.EAI_AGAIN, Code.DNS_TIMEOUT, True),
        (socket.EAI_NONAME, Code.DNS_NXDOMAIN, True),
        (socket.EAI_NODATA, Code.DNS_NXDOMAIN, True),
        (socket.EAI_SYSTEM, Code.DNS_TIMEOUT, True),
    ],
)
def test_dns(number: int, code: Code, transient: bool) -> None:
    error = translate_error(caused_by(httpx.ConnectError("words"), socket.gaierror(number, "words")))
    assert (error.code, error.transient) == (code, transient)


def test_an_untrusted_certificate_is_terminal_and_names_the_remedy() -> None:
    cause = ssl.SSLCertVerificationError(1, "self-signed")
    cause.verify_code, cause.verify_message = 18, "self-signed certificate"
    error = translate_error(caused_by(httpx.ConnectError("words"), cause))
    assert (error.code, error.transient) == (Code.UNTRUSTED_TLS, False)
    assert "--ca-bundle" in error.hint


@pytest.mark.parametrize("verify_code", [9, 10])
def test_a_certificate_outside_its_time_points_at_the_clock(verify_code: int) -> None:
    cause = ssl.SSLCertVerificationError(1, "expired")
    cause.verify_code, cause.verify_message = verify_code, "certificate has expired"
    assert "clock" in translate_error(caused_by(httpx.ConnectError("words"), cause)).hint


def test_a_proxy_that_cannot_be_reached_is_named_without_its_password() -> None:
    proxy = parse_proxy("http://user:hunter2@proxy.example:3128")
    error = translate_error(httpx.ConnectError("refused"), proxy=proxy)
    assert (error.code, error.transient) == (Code.PROXY_REFUSED, True)
    assert "proxy.example:3128" in error.message
    assert "hunter2" not in error.message


@pytest.mark.parametrize(
    ("status", "code", "transient"),
    [
        (404, Code.NOT_FOUND, False),
        (410, Code.NOT_FOUND, False),
        (401, Code.FORBIDDEN, False),
        (403, Code.FORBIDDEN, False),
        (407, Code.PROXY_AUTH, False),
        (408, Code.SERVER_ERROR, True),
        (429, Code.THROTTLED, True),
        (500, Code.SERVER_ERROR, True),
        (502, Code.SERVER_ERROR, True),
        (503, Code.THROTTLED, True),
        (511, Code.INTERCEPTED, False),
        (418, Code.REFUSED, False),
        (204, Code.REFUSED, False),
        (304, Code.REFUSED, False),
    ],
)
def test_status(status: int, code: Code, transient: bool) -> None:
    error = translate_status(status)
    assert (error.code, error.transient) == (code, transient)


def test_every_code_says_what_to_do_next() -> None:
    assert set(HINTS) == set(Code)
