"""The client: moves requests and answers, and turns every failure into a KubeError.

Nothing is retried here. A failure says whether trying again can help, and its caller knows how long that may
take.
"""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from flexnode import __version__
from flexnode.clock import Clock
from flexnode.kube.connection import ClientCertificateFiles, Connection, TokenFile, parse_server
from flexnode.kube.failures import Code, failure
from flexnode.kube.request import Request
from flexnode.kube.tls import load_trust
from flexnode.kube.translate import Asked, looks_like_page, translate_error, translate_status
from flexnode.kube.unverified import parse_date
from flexnode.secret import Secret

if TYPE_CHECKING:
    import httpx

CONNECT_TIMEOUT = 10.0
MAX_ANSWER = 64 << 20
"""Lists are asked for in pages, so an honest answer is far smaller than this."""


@dataclass(slots=True, eq=False)
class _Session:
    """Open connections that were made with one set of credentials; closed once replaced and unused."""

    client: httpx.Client
    token: Secret | None
    identity: tuple[object, ...]
    users: int = 0
    retired: bool = False


class KubeClient:
    """An `Api` over HTTPS. Connections are reused; safe to share between threads.

    Certificate and token files are read again when they have changed: kubelet rotates its certificate, and
    whoever speaks as that node must follow.
    """

    def __init__(self, connection: Connection, clock: Clock) -> None:
        self._connection = connection
        self._base = parse_server(connection.server)
        self._clock = clock
        self._lock = threading.Lock()
        self._session: _Session | None = None
        self.clock_offset: timedelta | None = None
        """How far this machine's clock is ahead of the server's, as of the last answer; to the second."""

    @property
    def connection(self) -> Connection:
        return self._connection

    def __enter__(self) -> KubeClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            if self._session is not None:
                self._retire(self._session)
            self._session = None

    def send(self, request: Request) -> bytes:
        deadline = self._clock.monotonic() + request.timeout
        with self._answer(request) as (response, asked):
            body = b"".join(self._chunks(response, deadline, asked))
            if response.status_code >= 300 or response.status_code < 200:
                raise translate_status(response.status_code, response.headers, body, asked)
            if looks_like_page(body, response.headers):
                raise failure(
                    Code.BAD_RESPONSE, f"a web page answers {request} at {self._base}, not the API server"
                )
            return body

    @contextmanager
    def stream(self, request: Request) -> Iterator[Iterator[bytes]]:
        deadline = self._clock.monotonic() + request.timeout
        with self._answer(request) as (response, asked):
            chunks = self._chunks(response, deadline, asked)
            if response.status_code != 200:
                raise translate_status(response.status_code, response.headers, b"".join(chunks), asked)
            yield _lines(chunks)

    @contextmanager
    def _answer(self, request: Request) -> Iterator[tuple[httpx.Response, Asked]]:
        import httpx

        with self._open_session() as session:
            asked = Asked(
                connection=self._connection, clock=self._clock, what=str(request), token=session.token
            )
            with _translated(asked):
                built = session.client.build_request(
                    request.method,
                    self._base + request.path,
                    params=request.query or None,
                    content=request.body,
                    headers=_headers(request, session.token),
                    timeout=httpx.Timeout(request.timeout, connect=min(CONNECT_TIMEOUT, request.timeout)),
                    extensions=self._extensions(),
                )
                response = session.client.send(built, stream=True)
            try:
                if (there := parse_date(response.headers.get("Date"))) is not None:
                    self.clock_offset = self._clock.now() - there
                yield response, asked
            finally:
                response.close()

    def _chunks(self, response: httpx.Response, deadline: float, asked: Asked) -> Iterator[bytes]:
        size = 0
        with _translated(asked):
            for chunk in response.iter_bytes():
                size += len(chunk)
                # The transport's own limit is for each read: who sends byte by byte never meets it.
                if self._clock.monotonic() > deadline:
                    raise failure(Code.TIMEOUT, f"{self._base} did not finish {asked.what} in time")
                if size > MAX_ANSWER:
                    raise failure(Code.BAD_RESPONSE, f"the answer to {asked.what} is larger than it may be")
                yield chunk

    def _extensions(self) -> dict[str, str]:
        name = self._connection.server_name
        return {"sni_hostname": name} if name else {}

    @contextmanager
    def _open_session(self) -> Iterator[_Session]:
        with self._lock:
            identity = _identity(self._connection)
            if self._session is None or self._session.identity != identity:
                fresh = self._connect(identity)
                if self._session is not None:
                    self._retire(self._session)
                self._session = fresh
            session = self._session
            session.users += 1
        try:
            yield session
        finally:
            with self._lock:
                session.users -= 1
                if session.retired and not session.users:
                    session.client.close()

    def _connect(self, identity: tuple[object, ...]) -> _Session:
        import httpx

        trust = load_trust(self._connection)
        proxy: httpx.Proxy | None = None
        if self._connection.proxy is not None:
            url = httpx.URL(self._connection.proxy.reveal())
            proxy = httpx.Proxy(
                url, ssl_context=ssl.create_default_context() if url.scheme == "https" else None
            )
        client = httpx.Client(
            verify=trust,
            trust_env=False,  # the connection says which proxy is right for its server
            proxy=proxy,
            follow_redirects=False,
            headers={"User-Agent": f"aks-flex-node/{__version__}", "Accept": "application/json"},
        )
        return _Session(client=client, token=_read_token(self._connection), identity=identity)

    def _retire(self, session: _Session) -> None:
        session.retired = True
        if not session.users:
            session.client.close()


@contextmanager
def _translated(asked: Asked) -> Iterator[None]:
    import httpx

    try:
        yield
    except (
        httpx.HTTPError,
        httpx.InvalidURL,
        httpx.StreamError,
        httpx.CookieConflict,
        ssl.SSLError,  # a server that refuses our certificate says so only after the handshake
        UnicodeError,  # a host name that DNS cannot carry
    ) as error:
        raise translate_error(error, asked) from error


def _headers(request: Request, token: Secret | None) -> dict[str, str]:
    headers = {} if request.body is None else {"Content-Type": request.content.value}
    return headers if token is None else {**headers, "Authorization": f"Bearer {token.reveal()}"}


def _read_token(connection: Connection) -> Secret | None:
    match connection.credential:
        case Secret() as token:
            return token
        case TokenFile(path=path):
            try:
                return Secret(path.read_text(encoding="ascii").strip())
            except (OSError, UnicodeDecodeError) as error:
                raise failure(Code.BAD_CREDENTIALS, f"the token in {path} cannot be read: {error}") from error
    return None


def _identity(connection: Connection) -> tuple[object, ...]:
    """What changes when the connection's files do."""
    match connection.credential:
        case ClientCertificateFiles(certificate=certificate, key=key):
            return (_stamp(certificate), _stamp(key))
        case TokenFile(path=path):
            return (_stamp(path),)
    return ()


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line for line in whole if line.strip())
    if rest.strip():
        yield rest
