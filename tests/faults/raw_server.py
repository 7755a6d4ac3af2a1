"""A server that answers every request with the same bytes: a proxy as bad as a test needs."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class RawServer:
    """`heads` holds the first line and the headers of every request so far."""

    port: int
    heads: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def answering(reply: bytes) -> Iterator[RawServer]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = RawServer(port=listener.getsockname()[1])
        stopping = threading.Event()

        def work() -> None:
            while True:
                connection, _ = listener.accept()
                with connection:
                    if stopping.is_set():
                        return
                    head = b""
                    while b"\r\n\r\n" not in head and (chunk := connection.recv(65536)):
                        head += chunk
                    server.heads.append(head.decode())
                    connection.sendall(reply)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield server
        finally:
            stopping.set()
            socket.create_connection(("127.0.0.1", server.port)).close()
            thread.join()


def closed_port() -> int:
    """A port of this machine on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
