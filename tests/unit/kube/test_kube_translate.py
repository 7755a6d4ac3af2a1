"""Every failure of the HTTP library has a code and a kind of its own choosing."""

from __future__ import annotations

import socket
import ssl

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnode.clock import FakeClock
from flexnode.kube import Code, Connection
from flexnode.kube.failures import HINTS
from flexnode.kube.translate import Asked, looks_like_page, translate_error, translate_status
from flexnode.secret import Secret

ASKED = Asked(
    connection=Connection(server="https://10.0.0.1:6443"), clock=FakeClock(), what="GET /api/v1/nodes"
)


def exception_classes() -> list[type[Exception]]:
    found = [getattr(httpx, name) for name in sorted(dir(httpx))]
    return [item for item in found if isinstance(item, type) and issubclass(item, Exception)]


def make(kind: type[Exception]) -> Exception:
    if issubclass(kind, httpx.HTTPStatusError):
        request = httpx.Request("GET", "https://host.example/")
        return kind("words", request=request, response=httpx.Response(500, request=request))
    if kind in (httpx.StreamConsumed, httpx.ResponseNotRead, httpx.RequestNotRead, httpx.StreamClosed):
        return kind()
    return kind("words")


@pytest.mark.parametrize("kind", exception_classes(), ids=lambda kind: kind.__name__)
def test_every_exception_of_the_http_library_becomes_a_failure(kind: type[Exception]) -> None:
    error = translate_error(make(kind), ASKED)
    assert error.code in set(Code)
    assert error.hint
    assert (error.code == Code.CLIENT_BUG) is issubclass(kind, httpx.StreamError | httpx.CookieConflict)


def test_there_are_exceptions_to_map() -> None:
    assert len(exception_classes()) > 20


def test_every_code_says_what_to_do_next() -> None:
    assert set(HINTS) == set(Code)


@pytest.mark.parametrize(
    ("cause", "code", "transient"),
    [
        (socket.gaierror(socket.EAI_AGAIN, "try again"), Code.DNS, True),
        (socket.gaierror(socket.EAI_NONAME, "unknown"), Code.DNS, True),
        (ssl.SSLError(1, "wrong version number"), Code.TLS_FAILED, True),
        (ConnectionRefusedError(111, "refused"), Code.UNREACHABLE, True),
    ],
)
def test_what_lies_behind_a_failed_connection_decides(cause: Exception, code: Code, transient: bool) -> None:
    error = httpx.ConnectError("words")
    error.__cause__ = cause
    found = translate_error(error, ASKED)
    assert (found.code, found.transient) == (code, transient)


def test_a_proxy_that_wants_a_password_is_terminal() -> None:
    found = translate_error(httpx.ProxyError("407 Proxy Authentication Required"), ASKED)
    assert (found.code, found.transient) == (Code.PROXY_AUTH, False)


@settings(deadline=None)
@given(st.integers(300, 599), st.binary(max_size=200), st.text(max_size=20))
def test_no_answer_is_a_crash(status: int, body: bytes, pause: str) -> None:
    error = translate_status(status, httpx.Headers({"Retry-After": pause.encode()}), body, ASKED)
    assert error.code in set(Code)
    assert error.retry_after is None or error.retry_after >= 0


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_a_token_is_never_quoted(before: str, after: str) -> None:
    token = Secret("abcdef.0123456789abcdef")
    asked = Asked(connection=ASKED.connection, clock=FakeClock(), what="GET /", token=token)
    body = f"{before}{token.reveal()}{after}".encode(errors="replace")
    assert token.reveal() not in str(translate_status(401, {}, body, asked).record())
    error = httpx.ConnectError(f"{before}{token.reveal()}{after}")
    assert token.reveal() not in str(translate_error(error, asked).record())


@pytest.mark.parametrize(
    ("body", "content", "page"),
    [
        (b"<!doctype HTML><html>", "", True),
        (b"\xef\xbb\xbf  <html>", "", True),
        (b"<p>hello", "text/html", True),
        (b'{"kind": "Status"}', "text/html", False),
        (b"ok", "text/plain", False),
    ],
)
def test_a_web_page_is_told_from_an_answer(body: bytes, content: str, page: bool) -> None:
    assert looks_like_page(body, {"Content-Type": content}) is page
