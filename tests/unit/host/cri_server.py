"""A small gRPC server on a unix socket, which answers calls as its script says."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded
from h2.exceptions import ProtocolError

from flexnode.host.cri.grpc import Status, frame
from flexnode.host.cri.protobuf import encode

HEADERS = [(":status", "200"), ("content-type", "application/grpc")]


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What one call is answered with. The odd fields break the protocol, or bend it as servers may."""

    message: Any = None
    status: int = Status.OK
    words: str = ""
    trailers_only: bool = False
    piece: int = 1 << 14  # bytes to a frame
    raw: bytes | None = None  # instead of the framed message
    http_status: str = "200"
    without_status: bool = False
    silent: bool = False  # never answers
    hangs_up: bool = False
    resets: bool = False
    garbage: bool = False


@dataclass
class CriServer:
    """`answer` gets a method's name and the request's bytes. `seen` lists both."""

    path: Path
    answer: Callable[[str, bytes], Reply]
    seen: list[tuple[str, bytes]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def __enter__(self) -> CriServer:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.path))
        self._listener.listen()
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stopping.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(timeout=10)

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        h2 = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        h2.initiate_connection()
        method, body = "", bytearray()
        with connection, suppress(OSError, ProtocolError):
            connection.sendall(h2.data_to_send())
            while data := connection.recv(1 << 16):
                for event in h2.receive_data(data):
                    if isinstance(event, RequestReceived):
                        headers = {str(key): str(value) for key, value in event.headers}
                        self.headers.append(headers)
                        method = headers[":path"].lstrip("/")
                    elif isinstance(event, DataReceived):
                        body += event.data
                        h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    elif isinstance(event, StreamEnded):
                        self.seen.append((method, bytes(body[5:])))
                        if not self._reply(connection, h2, self.answer(method, bytes(body[5:]))):
                            return
                connection.sendall(h2.data_to_send())

    def _reply(self, connection: socket.socket, h2: H2Connection, reply: Reply) -> bool:
        """Whether the connection stays open."""
        if reply.silent:
            self._stopping.wait(30)
            return False
        if reply.hangs_up:
            return False
        if reply.garbage:
            connection.sendall(b"\x00\x00\x01\x00\x00\x00\x00\x00\x00x")  # data that belongs to no call
            while connection.recv(1 << 16):
                pass
            return False
        if reply.resets:
            h2.reset_stream(1, error_code=2)
            connection.sendall(h2.data_to_send())
            return True
        status = [] if reply.without_status else [("grpc-status", str(int(reply.status)))]
        status += [("grpc-message", reply.words)] if reply.words else []
        headers = [(":status", reply.http_status), *HEADERS[1:]]
        if reply.trailers_only:
            h2.send_headers(1, [*headers, *status], end_stream=True)
            return True
        h2.send_headers(1, headers)
        if reply.status == Status.OK:
            payload = frame(encode(reply.message)) if reply.raw is None else reply.raw
            self._pour(connection, h2, payload, reply.piece)
        if status:
            h2.send_headers(1, status, end_stream=True)
        else:
            h2.end_stream(1)
        connection.sendall(h2.data_to_send())
        return True

    def _pour(self, connection: socket.socket, h2: H2Connection, payload: bytes, piece: int) -> None:
        """Send in pieces, as fast as the client makes room."""
        while payload:
            room = min(piece, h2.local_flow_control_window(1), h2.max_outbound_frame_size)
            if room > 0:
                h2.send_data(1, payload[:room])
                payload = payload[room:]
                connection.sendall(h2.data_to_send())
            else:
                h2.receive_data(connection.recv(1 << 16))
