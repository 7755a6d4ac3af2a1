"""One call to a gRPC server on a unix socket: a connection, a request, an answer, each within a deadline."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from flexnode.clock import Clock, SystemClock
from flexnode.errors import HostError
from flexnode.host.cri.grpc import frame, require_ok, unframe
from flexnode.host.failures import Code, failure

_STREAM = 1  # the first that a client opens, and the only one here
_CHUNK = 1 << 16
_LARGEST = 1 << 26
"""Bytes of an answer that is still believed: a list of images is far below."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Channel:
    """Every call connects anew: that costs little on one machine, and survives restarts of the server."""

    path: str
    clock: Clock = field(default_factory=SystemClock)

    def call(self, method: str, request: bytes, *, timeout: float) -> bytes:
        """The answer's bytes. `method` is SERVICE/METHOD, as `runtime.v1.RuntimeService/Version`."""
        name = method.rpartition("/")[2]
        deadline = self.clock.monotonic() + timeout
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            try:
                connection.settimeout(timeout)
                connection.connect(self.path)
                call = _Call(connection, name, lambda: deadline - self.clock.monotonic())
                call.send(method, request, timeout)
                return call.receive()
            except TimeoutError as error:
                message = f"the container runtime did not answer {name} within {timeout:g} s"
                raise failure(Code.RUNTIME_TIMEOUT, message) from error
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                message = f"the container runtime does not answer at {self.path}: {reason}"
                raise failure(Code.RUNTIME_DOWN, message) from error


class _Call:
    """The one call on one connection. `left` tells how many seconds remain for it."""

    def __init__(self, connection: socket.socket, name: str, left: Callable[[], float]) -> None:
        from h2.config import H2Configuration
        from h2.connection import H2Connection

        self._socket = connection
        self._name = name
        self._left = left
        self._h2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self._unsent = b""
        self._headers: dict[str, str] = {}
        self._answer = bytearray()
        self._ended = False

    def send(self, method: str, request: bytes, timeout: float) -> None:
        headers = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", f"/{method}"),
            (":authority", "localhost"),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            ("grpc-timeout", f"{int(timeout * 1000)}m"),
        ]
        self._h2.initiate_connection()
        self._h2.send_headers(_STREAM, headers)
        self._unsent = frame(request)
        self._flush()

    def receive(self) -> bytes:
        from h2.exceptions import ProtocolError

        while not self._ended:
            self._wait()
            data = self._socket.recv(_CHUNK)
            if not data:
                raise failure(Code.RUNTIME_DOWN, f"the container runtime hung up during {self._name}")
            try:
                for event in self._h2.receive_data(data):
                    self._take(event)
                self._flush()
            except ProtocolError as error:
                raise self._unclear(f"breaks HTTP/2: {error}") from error
        if self._headers.get(":status") != "200":
            raise self._unclear(f"has the HTTP status {self._headers.get(':status', 'none')}")
        require_ok(self._headers, self._name)
        return unframe(bytes(self._answer))

    def _take(self, event: object) -> None:
        from h2 import events

        if isinstance(event, (events.ResponseReceived, events.TrailersReceived)):
            # A call that failed at once has its status among the headers, any other in the trailers.
            self._headers |= {str(key): str(value) for key, value in event.headers or ()}
        elif isinstance(event, events.DataReceived):
            self._answer += event.data or b""
            if len(self._answer) > _LARGEST:
                raise self._unclear(f"is larger than {_LARGEST >> 20} MiB")
            self._h2.acknowledge_received_data(event.flow_controlled_length or 0, _STREAM)
        elif isinstance(event, events.StreamEnded):
            self._ended = True
        elif isinstance(event, (events.StreamReset, events.ConnectionTerminated)):
            raise failure(Code.RUNTIME_DOWN, f"the container runtime broke off {self._name}")

    def _flush(self) -> None:
        """Send what is due, and as much of the request as the server has room for."""
        while self._unsent:
            room = min(self._h2.local_flow_control_window(_STREAM), self._h2.max_outbound_frame_size)
            if room <= 0:
                break
            part, self._unsent = self._unsent[:room], self._unsent[room:]
            self._h2.send_data(_STREAM, part, end_stream=not self._unsent)
        if data := self._h2.data_to_send():
            self._wait()
            with suppress(BrokenPipeError):  # the answer may lie here already: reading tells
                self._socket.sendall(data)

    def _wait(self) -> None:
        """Let the next use of the socket take what is left of the time, and no more."""
        left = self._left()
        if left <= 0:
            raise TimeoutError
        self._socket.settimeout(left)

    def _unclear(self, what: str) -> HostError:
        return failure(Code.RUNTIME_ANSWER, f"the container runtime's answer to {self._name} {what}")
