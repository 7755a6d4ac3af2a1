"""Sockets inside a lab's network, for a process outside of it.

A socket belongs to the network namespace in which it was made, whoever uses it later. So one process can
serve the lab on one side, and reach the machine's own network on the other.
"""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNET = 0x40000000


@contextmanager
def in_namespace(of: Path) -> Iterator[None]:
    """Make sockets in the network namespace behind `of`. It changes the calling thread alone."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        other = os.open(of, os.O_RDONLY)
        try:
            _setns(other)
        finally:
            os.close(other)
        try:
            yield
        finally:
            _setns(own)
    finally:
        os.close(own)


def listen_udp(address: str, port: int, *, device: str | None = None) -> socket.socket:
    """A bound UDP socket; with `device` it takes broadcasts of that interface only."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if device:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
    server.bind((address, port))
    return server


def listen_tcp(address: str, port: int) -> socket.socket:
    return socket.create_server((address, port), reuse_port=False)


def _setns(handle: int) -> None:
    # os.setns came with Python 3.12.
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(handle, CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "setns")
