"""Files over HTTP: proxies, TLS, resuming, and the refusal of what is not the file.

Importing this module imports httpx, which takes a while: sources of other kinds work without it.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from flexnode import __version__
from flexnode.artifacts.failures import Code, failure
from flexnode.artifacts.proxies import Proxies, Proxy
from flexnode.artifacts.settings import HttpSettings, Login
from flexnode.artifacts.stream import Stream
from flexnode.artifacts.translate import translate_error, translate_status
from flexnode.clock import Clock
from flexnode.retry import parse_retry_after

MAX_REDIRECTS = 10
MAX_DOCUMENT = 1 << 20

_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class HttpDoor:
    """One client for all sources: connections are reused, and safe to share between threads."""

    def __init__(self, settings: HttpSettings, clock: Clock) -> None:
        self._clock = clock
        self._proxies = settings.proxies
        self._client = httpx.Client(
            transport=_Router(settings.proxies, load_trust(settings.ca_bundle)),
            follow_redirects=True,
            max_redirects=MAX_REDIRECTS,
            trust_env=False,  # the proxies come from us: httpx knows no networks in NO_PROXY
            timeout=httpx.Timeout(settings.idle_timeout, connect=settings.connect_timeout),
            headers={"User-Agent": f"aks-flex-node/{__version__}", "Accept-Encoding": "identity"},
        )

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def get_file(
        self, url: str, offset: int = 0, *, login: Login | None = None, headers: dict[str, str] | None = None
    ) -> Iterator[Stream]:
        """The file behind `url` from `offset` on, or from its beginning if the server cannot do that."""
        wanted = dict(headers or {})
        if offset:
            wanted["Range"] = f"bytes={offset}-"
        with self._answer(url, wanted, login) as response:
            if response.status_code != 416:
                yield self._file(response, url)
                return
        # Nothing lies behind the offset: what we hold is longer than the file, so it is not the file.
        with self._answer(url, dict(headers or {}), login) as response:
            yield self._file(response, url)

    def get_document(self, url: str, *, login: Login | None = None) -> tuple[int, httpx.Headers, bytes]:
        """A small answer, whatever its status: its status, headers and content."""
        with self._answer(url, {}, login) as response, self._translated(str(response.url)):
            content = b""
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MAX_DOCUMENT:
                    raise failure(Code.REFUSED, "the answer is far larger than it may be")
            return response.status_code, response.headers, content

    @contextmanager
    def _answer(self, url: str, headers: dict[str, str], login: Login | None) -> Iterator[httpx.Response]:
        auth = None if login is None else httpx.BasicAuth(login.user, login.password.reveal())
        with self._translated(url):
            request = self._client.build_request("GET", url, headers=headers)
            response = self._client.send(request, auth=auth, stream=True)
        try:
            yield response
        finally:
            # Not read to its end: closing drops the connection, which is right for a file we gave up on.
            response.close()

    def _file(self, response: httpx.Response, url: str) -> Stream:
        if response.status_code not in (200, 206):
            final = str(response.url)
            raise translate_status(
                response.status_code,
                proxy=self._proxies.find(final),
                retry_after=parse_retry_after(response.headers.get("Retry-After"), self._clock.now()),
            )
        offset, total = _extent(response)
        return Stream(chunks=self._chunks(response, url), offset=offset, total=total)

    def _chunks(self, response: httpx.Response, url: str) -> Iterator[bytes]:
        first = True
        html = "html" in response.headers.get("Content-Type", "").lower()
        # Raw: a digest is of the bytes as published, whatever Content-Encoding a server puts on a tar.gz.
        with self._translated(str(response.url)):
            for chunk in response.iter_raw():
                if first and response.status_code == 200 and looks_like_page(chunk, html=html):
                    raise failure(Code.INTERCEPTED, _page_message(url, str(response.url)))
                first = False
                yield chunk

    @contextmanager
    def _translated(self, url: str) -> Iterator[None]:
        try:
            yield
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, httpx.CookieConflict) as error:
            asked = url
            if isinstance(error, httpx.RequestError) and error._request is not None:
                asked = str(error.request.url)  # after redirects, another host, perhaps another proxy
            raise translate_error(error, proxy=self._proxies.find(asked)) from error
        except UnicodeError as error:  # a host name that DNS cannot carry
            raise failure(Code.BAD_SOURCE, f"not a host name: {error}") from error


class _Router(httpx.BaseTransport):
    """Sends each request, redirected ones too, through the proxy that its host wants, or directly."""

    def __init__(self, proxies: Proxies, trust: ssl.SSLContext) -> None:
        self._proxies = proxies
        self._direct = httpx.HTTPTransport(verify=trust, trust_env=False)
        routes = {proxy.url.reveal(): proxy for proxy in (proxies.http, proxies.https) if proxy}
        self._through = {url: _transport(proxy, trust) for url, proxy in routes.items()}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        proxy = self._proxies.find(str(request.url))
        transport = self._direct if proxy is None else self._through[proxy.url.reveal()]
        return transport.handle_request(request)

    def close(self) -> None:
        for transport in (self._direct, *self._through.values()):
            transport.close()


def _transport(proxy: Proxy, trust: ssl.SSLContext) -> httpx.HTTPTransport:
    url = httpx.URL(proxy.url.reveal())
    through = httpx.Proxy(url, ssl_context=trust if url.scheme == "https" else None)
    return httpx.HTTPTransport(verify=trust, trust_env=False, proxy=through)


def load_trust(ca_bundle: Path | None) -> ssl.SSLContext:
    """The authorities that the machine trusts, and those of the user's own bundle."""
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if not any(path and Path(path).exists() for path in (paths.cafile, paths.capath)):
        import certifi  # a machine without ca-certificates: better than trusting nobody

        context.load_verify_locations(cafile=certifi.where())
    if ca_bundle is not None:
        try:
            context.load_verify_locations(cafile=ca_bundle)
        except (OSError, ssl.SSLError) as error:
            raise failure(
                Code.BAD_SOURCE,
                f"{ca_bundle} is not a readable bundle of CA certificates: {error}",
                hint="a CA bundle is one PEM file with one or more certificates",
            ) from error
    return context


def looks_like_page(start: bytes, *, html: bool) -> bool:
    """Whether content that begins like this is a web page. The header proves nothing: servers guess it."""
    text = start[:512].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return text.startswith((b"<!doctype html", b"<html")) or (html and text.startswith(b"<"))


def _page_message(asked: str, answered: str) -> str:
    where = "" if httpx.URL(asked).host == httpx.URL(answered).host else f" from {httpx.URL(answered).host}"
    return f"a web page{where} arrived instead of the file: a login page or a proxy's notice"


def _extent(response: httpx.Response) -> tuple[int, int | None]:
    """Where in the file the answer begins, and how long the whole file is."""
    if response.status_code == 206:
        found = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
        if found is None:
            raise failure(Code.REFUSED, "a part of the file arrived that says not which part it is")
        start, total = found.groups()
        return int(start), None if total == "*" else int(total)
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isascii() and length.isdigit() else None
