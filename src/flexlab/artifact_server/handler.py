"""One connection: the requests on it, answered well or as a fault wants it."""

from __future__ import annotations

import json
import select
import socket
import struct
from datetime import timedelta
from email.utils import format_datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from flexlab.artifact_server.content import (
    Span,
    find_blob,
    find_digest,
    flip_bit,
    list_blobs,
    parse_range,
    read_chunks,
)
from flexlab.artifact_server.faults import (
    CaptivePortal,
    Fault,
    FlipBit,
    NotFound,
    Reset,
    Slow,
    Stall,
    Throttle,
    Truncate,
)
from flexlab.artifact_server.state import Request, State
from flexlab.errors import LabError

if TYPE_CHECKING:
    from flexlab.artifact_server.server import Listener

STATE_PATH = "/-/state"
"""What has happened so far, as JSON; faults do not touch it."""

LOGIN_PAGE = (
    b"<!DOCTYPE html><html><head><title>Guest network</title></head><body><h1>Welcome</h1>"
    b'<form action="/login" method="post"><input name="room"><button>Connect</button></form></body></html>\n'
)

TICKS_PER_SECOND = 10  # how evenly a slow body trickles


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "flexlab-artifacts"
    sys_version = ""
    timeout = 60  # an idle connection, or a client that takes nothing, ends after so many seconds
    disable_nagle_algorithm = True  # what was sent before a reset must not wait for an acknowledgement
    server: Listener

    @property
    def state(self) -> State:
        return self.server.state

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = urlsplit(self.path).path
        if path == STATE_PATH:
            self._send_state()
            return
        digest = find_digest(path)
        try:
            fault = self.state.take_fault(path, digest, body=self.command != "HEAD")
        except LabError as error:
            # Nobody may take an unreadable fault for a fault that does no harm.
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, f"{error.message}\n".encode())
            return
        kind = str(fault.__struct_config__.tag) if fault else None
        self.state.record(
            Request(method=self.command, path=path, range=self.headers.get("Range"), fault=kind)
        )
        if not self._refuse(fault):
            self._serve(path, digest, fault)

    def _refuse(self, fault: Fault | None) -> bool:
        """Answer as a fault wants it that leaves no room for the file."""
        match fault:
            case NotFound():
                self._send_not_found()
            case Throttle(status=status, retry_after=seconds, as_date=as_date):
                headers = {}
                if seconds is not None:
                    moment = self.state.clock.now() + timedelta(seconds=seconds)
                    headers["Retry-After"] = format_datetime(moment, usegmt=True) if as_date else str(seconds)
                self._send(HTTPStatus(status), b"come back later\n", headers)
            case CaptivePortal():
                self._send(HTTPStatus.OK, LOGIN_PAGE, {"Content-Type": "text/html; charset=utf-8"})
            case Reset(after=None):
                self._reset()
            case _:
                return False
        return True

    def _serve(self, path: str, digest: str | None, fault: Fault | None) -> None:
        blob = find_blob(self.state.store, digest) if digest else None
        if digest and blob:
            self._send_blob(blob, digest, fault)
        elif path == "/":
            self._send_index()
        elif path in ("/v2", "/v2/"):  # how a client asks whether this is a container registry
            self._send(HTTPStatus.OK, b"{}", {"Content-Type": "application/json"})
        else:
            self._send_not_found()

    def _send_blob(self, blob: Path, digest: str, fault: Fault | None) -> None:
        etag = f'"sha256:{digest}"'
        headers = {"ETag": etag, "Accept-Ranges": "bytes", "Content-Type": "application/octet-stream"}
        if self.path.startswith("/v2/"):
            headers["Docker-Content-Digest"] = f"sha256:{digest}"
        if self.headers.get("If-None-Match") == etag:
            self._send(HTTPStatus.NOT_MODIFIED, None, headers)
            return
        with blob.open("rb") as file:
            size = blob.stat().st_size
            wanted = self.headers.get("Range") if self.headers.get("If-Range", etag) == etag else None
            span = parse_range(wanted, size)
            if span is None:
                headers["Content-Range"] = f"bytes */{size}"
                self._send(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, b"", headers)
                return
            partial = wanted is not None and span.length < size
            if partial:
                headers["Content-Range"] = f"bytes {span.start}-{span.end - 1}/{size}"
            headers["Content-Length"] = str(span.length)
            self._send(HTTPStatus.PARTIAL_CONTENT if partial else HTTPStatus.OK, None, headers)
            if self.command == "HEAD":
                return
            if fault is None:
                self.connection.sendfile(file, span.start, span.length)
                return
            for position, data in read_chunks(file, _shorten(span, fault), _chunk(fault)):
                self._send_chunk(data, position, size, fault)
            self._end_badly(fault)

    def _send_chunk(self, data: bytes, position: int, size: int, fault: Fault) -> None:
        match fault:
            case FlipBit(offset=offset):
                data = flip_bit(data, position, offset % size)
            case Slow(bytes_per_second=rate):
                self.state.stopping.wait(len(data) / rate)
        self.connection.sendall(data)

    def _end_badly(self, fault: Fault) -> None:
        match fault:
            case Truncate():
                self.close_connection = True
            case Stall():
                self._wait_for_hangup()
            case Reset():
                self._reset()

    def _wait_for_hangup(self) -> None:
        """Send nothing until the client gives up or the server stops."""
        self.close_connection = True
        hangup = select.poll()
        hangup.register(self.connection, select.POLLRDHUP)
        hangup.poll()

    def _reset(self) -> None:
        """End the connection with a TCP reset, which is what closing it without lingering does."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # Detached, so that the server cannot say goodbye in the orderly way first.
        socket.close(self.connection.detach())

    def _send_index(self) -> None:
        blobs = list_blobs(self.state.store)
        if "application/json" in self.headers.get("Accept", ""):
            listing = [{"sha256": digest, "size": size} for digest, size in blobs]
            self._send_json(listing)
        else:
            lines = [f"{digest}  {size}\n" for digest, size in blobs]
            self._send(HTTPStatus.OK, "".join(lines).encode())

    def _send_state(self) -> None:
        requests = [
            {"method": each.method, "path": each.path, "range": each.range, "fault": each.fault}
            for each in self.state.requests()
        ]
        self._send_json({"hits": self.state.hits_by_id(), "requests": requests})

    def _send_not_found(self) -> None:
        if self.path.startswith("/v2/"):
            body = json.dumps({"errors": [{"code": "BLOB_UNKNOWN", "message": "blob unknown to registry"}]})
            self._send(HTTPStatus.NOT_FOUND, body.encode(), {"Content-Type": "application/json"})
        else:
            self._send(HTTPStatus.NOT_FOUND, b"not found\n")

    def _send_json(self, value: object) -> None:
        body = json.dumps(value, indent=2) + "\n"
        self._send(HTTPStatus.OK, body.encode(), {"Content-Type": "application/json"})

    def _send(self, status: HTTPStatus, body: bytes | None, headers: dict[str, str] | None = None) -> None:
        """Send an answer; with `body` None, its beginning only."""
        self.send_response(status)
        defaults = {"Content-Type": "text/plain; charset=utf-8"}
        if body is not None:
            defaults["Content-Length"] = str(len(body))
        for name, value in {**defaults, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if body and self.command != "HEAD":
            self.connection.sendall(body)

    def log_message(self, format: str, *args: object) -> None:
        self.state.log(f"{self.client_address[0]} {format % args}")


def _shorten(span: Span, fault: Fault) -> Span:
    """What of `span` a fault lets through: always less than all of it, or the fault would not show."""
    match fault:
        case Truncate(after=after) | Stall(after=after) | Reset(after=int(after)):
            return Span(start=span.start, end=span.start + min(after, max(0, span.length - 1)))
    return span


def _chunk(fault: Fault) -> int:
    match fault:
        case Slow(bytes_per_second=rate):
            return max(1, int(rate / TICKS_PER_SECOND))
    return 256 * 1024
