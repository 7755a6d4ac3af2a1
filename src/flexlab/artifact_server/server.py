"""Listening, encrypting, stopping: a thread for each connection, so that no client can hold up another."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import ssl
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flexlab.artifact_server.certificates import Certificates
from flexlab.artifact_server.faults import Fault, FaultSource, no_faults
from flexlab.artifact_server.handler import Handler
from flexlab.artifact_server.state import Request, State
from flexlab.errors import LabError
from flexlab.pki import CertificateAuthority, TlsFiles
from flexnode.clock import Clock, SystemClock

HANDSHAKE_TIMEOUT = 10.0


class Listener(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """One port of a server, plain or encrypted."""

    allow_reuse_address = True
    request_queue_size = 128
    daemon_threads = False
    block_on_close = True  # once `close` returns, no thread is left

    def __init__(self, host: str, port: int, state: State, certificates: Certificates | None) -> None:
        self.state = state
        self._certificates = certificates
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        if ":" in host:
            self.address_family = socket.AF_INET6
        try:
            super().__init__((host, port), Handler)
        except OSError as error:
            raise LabError(
                f"cannot listen on {host} port {port}: {error.strerror}",
                code="lab/port-taken",
                hint="choose another port, or 0 for any that is free",
            ) from error
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        name = f"[{host!s}]" if self.address_family == socket.AF_INET6 else str(host)
        return f"{'https' if self._certificates else 'http'}://{name}:{port}"

    def close(self) -> None:
        """Stop listening, end every connection, and wait for its thread."""
        self.shutdown()
        self._thread.join()
        self.state.stopping.set()
        with self._lock:
            for connection in self._open:
                _hang_up(connection)
        self.server_close()

    def finish_request(self, request: Any, client_address: Any) -> None:
        # Runs in the thread of the connection: a handshake that never ends holds up nobody else.
        connection = self._encrypt(request, self._certificates) if self._certificates else request
        with self._lock:
            self._open.add(connection)
            if self.state.stopping.is_set():
                _hang_up(connection)
        try:
            if isinstance(connection, ssl.SSLSocket):
                connection.settimeout(HANDSHAKE_TIMEOUT)
                connection.do_handshake()
            Handler(connection, client_address, self)
        finally:
            with self._lock:
                self._open.discard(connection)
            self.shutdown_request(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Clients that hang up, and handshakes that they refuse, are what this server is for.
        self.state.log(f"{client_address}: {traceback.format_exc(limit=-1).strip().splitlines()[-1]}")

    def _encrypt(self, request: socket.socket, certificates: Certificates) -> ssl.SSLSocket:
        try:
            fault = self.state.take_bad_tls()
        except LabError:  # the first request on this connection says it
            fault = None
        context = certificates.context(fault.flaw if fault else None)
        return context.wrap_socket(request, server_side=True, do_handshake_on_connect=False)


def _hang_up(connection: socket.socket) -> None:
    # The plain socket's method even for an encrypted one: its thread may be in the middle of a write.
    with contextlib.suppress(OSError):  # it ended by itself
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


class ArtifactServer:
    """A running server."""

    def __init__(self, state: State, listener: Listener) -> None:
        self._state = state
        self._listener = listener
        self.url = listener.url

    @property
    def requests(self) -> tuple[Request, ...]:
        """The latest requests, oldest first."""
        return self._state.requests()

    def hits(self, fault: Fault | None = None) -> int:
        """How often `fault`, as the fault source gave it, has hit; of all faults together by default."""
        return self._state.hits(fault)


@contextlib.contextmanager
def serve(
    *,
    store: Path,
    faults: FaultSource = no_faults,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: TlsFiles | None = None,
    authority: CertificateAuthority | None = None,
    clock: Clock | None = None,
) -> Iterator[ArtifactServer]:
    """Serve `store` from threads of this process: over HTTPS where `tls` is given, otherwise over HTTP.

    `authority` is the one that signed `tls`; with it the server can make certificates that are wrong in one
    point only (see `TlsFlaw`).
    """
    state = State(store=store, faults=faults, clock=clock or SystemClock())
    listener = Listener(host, port, state, Certificates(tls, authority) if tls else None)
    try:
        yield ArtifactServer(state, listener)
    finally:
        listener.close()
