"""A real HTTPS server that answers as a test tells it, so that the client meets a network."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from flexlab.pki import CertificateAuthority, Identity, Usage, create_authority
from flexnode.kube import Connection

SERVER = Identity(
    common_name="kube-apiserver",
    dns_names=("localhost", "kubernetes"),
    addresses=(ip_address("127.0.0.1"),),
    usages=(Usage.SERVER,),
)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A request as it arrived. `user` is the common name of the client's certificate."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    user: str = ""

    @property
    def document(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What to answer; `delay` before the first byte and `pause` between any two, in seconds."""

    status: int = 200
    body: bytes = b"{}"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    pause: float = 0.0
    reset: bool = False
    cut: bool = False  # says that more comes, and hangs up


Answer = Callable[[Seen], Reply]


@dataclass
class ApiServer:
    """A running server and all that it was asked."""

    port: int
    authority: CertificateAuthority
    seen: list[Seen] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def ca(self) -> str:
        return self.authority.certificate.decode()

    def connection(self, **changes: Any) -> Connection:
        return Connection(**{"server": self.url, "ca": self.ca, **changes})


def as_json(document: Any, status: int = 200, **more: Any) -> Reply:
    headers = {"Content-Type": "application/json", **more.pop("headers", {})}
    return Reply(status=status, body=json.dumps(document).encode(), headers=headers, **more)


def refusal(
    status: int,
    message: str = "no",
    *,
    reason: str = "",
    cause: str = "",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """A Status object, as the API server explains a failure."""
    details = {"causes": [{"reason": cause, "message": message}]} if cause else {}
    document = {
        "kind": "Status",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": details,
    }
    return as_json(document, status, headers=headers or {})


def always(reply: Reply) -> Answer:
    return lambda _seen: reply


@contextmanager
def serve(
    answer: Answer,
    *,
    authority: CertificateAuthority | None = None,
    identity: Identity = SERVER,
) -> Iterator[ApiServer]:
    """Serve until the block ends; then no thread and no socket is left."""
    authority = authority or create_authority("kubernetes")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        files = authority.issue(identity).write(Path(folder), "server")
        context.load_cert_chain(files.certificate, files.key)
    context.load_verify_locations(cadata=authority.certificate.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    listener = _Listener(answer, context)
    server = ApiServer(port=listener.server_address[1], authority=authority, seen=listener.seen)
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        listener.stopping.set()
        listener.shutdown()
        thread.join()
        listener.hang_up()
        listener.server_close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, answer: Answer, context: ssl.SSLContext) -> None:
        self.answer = answer
        self.context = context
        self.seen: list[Seen] = []
        self.stopping = threading.Event()
        self._open: list[socket.socket] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        # In the thread of the connection, so that a handshake that never comes holds up nobody.
        with contextlib.suppress(OSError):
            connection = self.context.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
            self._open.append(connection)
            try:
                connection.settimeout(10)
                connection.do_handshake()
                _Handler(connection, client_address, self)
            finally:
                connection.close()

    def hang_up(self) -> None:
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: the second would wait 40 ms for the first
    server: _Listener
    connection: ssl.SSLSocket

    def handle_any(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        certificate: Any = self.connection.getpeercert() or {}
        subject = dict(pair for relative in certificate.get("subject", ()) for pair in relative)
        seen = Seen(
            method=self.command,
            path=self.path,
            headers=dict(self.headers.items()),
            body=self.rfile.read(length),
            user=subject.get("commonName", ""),
        )
        self.server.seen.append(seen)
        self._send(self.server.answer(seen))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def _send(self, reply: Reply) -> None:
        self.server.stopping.wait(reply.delay)
        if reply.reset:
            # Closing with nothing left to linger for sends a reset in place of a farewell.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        self.send_response_only(reply.status)
        if "Date" not in reply.headers:
            self.send_header("Date", self.date_time_string())
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body) + 100 * reply.cut))
        self.end_headers()
        if reply.pause:
            for byte in reply.body:
                self.wfile.write(bytes([byte]))
                self.server.stopping.wait(reply.pause)
        else:
            self.wfile.write(reply.body)
        self.close_connection = self.close_connection or reply.cut

    def log_message(self, *_: Any) -> None:
        pass
