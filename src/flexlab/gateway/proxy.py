"""The one way out of a lab: an HTTP proxy to the package archives and to the lab's own servers."""

from __future__ import annotations

import contextlib
import select
import socket
import socketserver
import urllib.request
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from urllib.parse import urlsplit

from flexlab.gateway.faults import ProxyFault
from flexlab.gateway.sockets import in_namespace
from flexlab.gateway.zone import Zone
from flexlab.model import DOMAIN, NODE_NETWORK

CHUNK = 256 * 1024
IDLE_SECONDS = 120
HEAD_LIMIT = 64 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """The head of a proxied request, as far as the proxy reads it."""

    method: str
    host: str
    port: int
    head: bytes  # what goes on to the server; empty for CONNECT


@dataclass(frozen=True, kw_only=True, slots=True)
class Outside:
    """What the proxy may reach: package archives over the machine's network, the rest within the lab."""

    zone: Zone
    namespace: Path
    allowed: frozenset[str]

    def connect(self, request: Request) -> socket.socket | None:
        """A connection for `request`; None where the proxy does not let it out."""
        if request.host in self.allowed:
            return _connect_outside(request)
        address = self.zone.find_address(request.host) if request.host.endswith(DOMAIN) else None
        if address is None:
            with contextlib.suppress(ValueError):
                literal = IPv4Address(request.host)
                address = literal if literal in NODE_NETWORK else None
        if address is None:
            return None
        with in_namespace(self.namespace):
            return socket.create_connection((str(address), request.port), timeout=IDLE_SECONDS)


def parse_request(head: bytes) -> Request | None:
    """Read `METHOD absolute-uri` or `CONNECT host:port`; None for anything else."""
    line, _, rest = head.partition(b"\r\n")
    words = line.decode("latin-1").split()
    if len(words) != 3:
        return None
    method, target, version = words
    try:
        url = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = url.hostname, url.port
    except ValueError:
        return None
    if host is None:
        return None
    if method == "CONNECT":
        return Request(method=method, host=host, port=port or 443, head=b"")
    if url.scheme != "http":
        return None
    path = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
    # One request for each connection: what follows can then be passed through unread.
    fields = [
        field
        for field in rest.split(b"\r\n")
        if field and not field.lower().startswith((b"proxy-", b"connection:", b"keep-alive:"))
    ]
    lines = [f"{method} {path} {version}".encode("latin-1"), *fields, b"Connection: close", b"", b""]
    return Request(method=method, host=host, port=port or 80, head=b"\r\n".join(lines))


def serve(listener: socket.socket, outside: Outside) -> None:
    """Answer until the process ends."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                _handle(self.request, outside)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.serve_forever()


def _handle(client: socket.socket, outside: Outside) -> None:
    client.settimeout(IDLE_SECONDS)
    head, rest = _read_head(client)
    fault = outside.zone.faults().proxy
    if fault is ProxyFault.REFUSE:
        return
    if fault is ProxyFault.AUTH:
        _refuse(client, "407 Proxy Authentication Required", 'Proxy-Authenticate: Basic realm="lab"\r\n')
        return
    request = parse_request(head)
    if request is None:
        _refuse(client, "400 Bad Request")
        return
    try:
        server = outside.connect(request)
    except OSError as error:
        _refuse(client, "502 Bad Gateway", body=f"{request.host}:{request.port}: {error}\n")
        return
    if server is None:
        _refuse(
            client, "403 Forbidden", body=f"{request.host} is neither a package archive nor in this lab\n"
        )
        return
    with server:
        if request.method == "CONNECT":
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        server.sendall(request.head + rest)
        _pump(client, server)


def _connect_outside(request: Request) -> socket.socket:
    """Straight, or through the proxy that this machine itself is configured with."""
    upstream = urllib.request.getproxies().get("https" if request.method == "CONNECT" else "http")
    if not upstream or urllib.request.proxy_bypass(request.host):
        return socket.create_connection((request.host, request.port), timeout=IDLE_SECONDS)
    url = urlsplit(upstream)
    server = socket.create_connection((url.hostname or "", url.port or 3128), timeout=IDLE_SECONDS)
    server.sendall(f"CONNECT {request.host}:{request.port} HTTP/1.1\r\nHost: {request.host}\r\n\r\n".encode())
    head, _ = _read_head(server)
    if b" 200 " not in head.split(b"\r\n")[0] + b" ":
        raise OSError(f"the upstream proxy answered {head[:60]!r}")
    return server


def _read_head(stream: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        block = stream.recv(CHUNK)
        if not block or len(data) > HEAD_LIMIT:
            raise ConnectionError("no complete request head")
        data += block
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _pump(one: socket.socket, two: socket.socket) -> None:
    """Pass bytes both ways until one side closes or nothing moves for long."""
    other = {one: two, two: one}
    while True:
        readable, _, _ = select.select((one, two), (), (), IDLE_SECONDS)
        if not readable:
            return
        for side in readable:
            block = side.recv(CHUNK)
            if not block:
                return
            other[side].sendall(block)


def _refuse(client: socket.socket, status: str, fields: str = "", body: str = "") -> None:
    text = f"HTTP/1.1 {status}\r\n{fields}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    client.sendall(text.encode())
