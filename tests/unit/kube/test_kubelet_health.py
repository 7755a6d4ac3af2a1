"""What kubelet says of its own health, asked of a real server on the loopback interface."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from flexnode.kube.kubelet_health import find_kubelet_fault

Talk = Callable[[socket.socket], None]


@contextmanager
def kubelet(talk: Talk) -> Iterator[int]:
    """A server that treats its one visitor as told; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)

        def serve() -> None:
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(5)
                    talk(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            thread.join()


def answering(status: str, body: str = "") -> Talk:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n"

    def talk(connection: socket.socket) -> None:
        assert connection.recv(4096).startswith(b"GET /healthz HTTP/1.1\r\n")
        connection.sendall((head + body).encode())

    return talk


def sending(data: bytes) -> Talk:
    def talk(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(data)

    return talk


def silent(connection: socket.socket) -> None:
    """Takes the question and answers nothing, as a kubelet that was stopped does, until the asker goes."""
    while connection.recv(4096):
        pass


def test_a_healthy_kubelet_has_no_fault() -> None:
    with kubelet(answering("200 OK", "ok")) as port:
        assert find_kubelet_fault(port=port) == ""


def test_an_unhealthy_kubelet_says_what_it_lacks() -> None:
    with kubelet(answering("500 Internal Server Error", "[-]syncloop failed: no pods synced\n")) as port:
        fault = find_kubelet_fault(port=port)
    assert fault == "kubelet says that it is not healthy: [-]syncloop failed: no pods synced"


def test_a_kubelet_that_does_not_run_is_a_fault() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    fault = find_kubelet_fault(port=port)
    assert fault.startswith(f"kubelet does not answer on 127.0.0.1:{port}: ")


def test_a_kubelet_that_hangs_is_a_fault_and_not_waited_for() -> None:
    """Row 23's relative: a process that is stopped accepts connections for ever."""
    with kubelet(silent) as port:
        assert "does not answer" in find_kubelet_fault(port=port, timeout=0.2)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
    ],
)
def test_an_answer_that_is_broken_is_a_fault(data: bytes) -> None:
    """Another program may hold the port, or kubelet may die in the middle of a word."""
    with kubelet(sending(data)) as port:
        assert "does not answer" in find_kubelet_fault(port=port)


def test_an_answer_without_an_end_is_cut() -> None:
    """Whoever holds the port must not fill the agent's memory."""
    body = b"x" * 1_000_000
    with kubelet(sending(b"HTTP/1.1 500 Oh\r\nContent-Length: %d\r\n\r\n" % len(body) + body)) as port:
        assert len(find_kubelet_fault(port=port)) < 1100


def test_bytes_that_are_no_text_can_be_shown() -> None:
    with kubelet(sending(b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\n\xff\xfe")) as port:
        assert find_kubelet_fault(port=port).isprintable()
