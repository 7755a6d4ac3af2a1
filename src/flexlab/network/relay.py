"""Carries frames between a machine's tap and the bridge, badly: `python -m flexlab.network.relay`.

Frames travel with their virtio header, so that checksum and segmentation offload survive the detour.
"""

from __future__ import annotations

import argparse
import heapq
import ipaddress
import random
import select
import socket
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from flexlab.network.impairment import Impairment

ETH_P_ALL = 0x0003
ETH_P_IP = 0x0800
ETH_P_ARP = 0x0806
SOL_PACKET = 263
PACKET_VNET_HDR = 15
PACKET_IGNORE_OUTGOING = 23
VNET_HEADER = 10
LARGEST = 65536 + 64
MAX_QUEUED = 20_000
"""A line holds so many frames in flight and loses the rest, as a real one does."""


def addresses(frame: bytes) -> tuple[str, ...]:
    """The IPv4 addresses a frame (behind its virtio header) is from and to; empty for anything else."""
    ethernet = frame[VNET_HEADER:]
    kind = int.from_bytes(ethernet[12:14], "big")
    if kind == ETH_P_IP and len(ethernet) >= 34:
        return socket.inet_ntoa(ethernet[26:30]), socket.inet_ntoa(ethernet[30:34])
    if kind == ETH_P_ARP and len(ethernet) >= 42:
        return socket.inet_ntoa(ethernet[28:32]), socket.inet_ntoa(ethernet[38:42])
    return ()


def tcp_ports(frame: bytes) -> tuple[int, ...]:
    """The TCP ports a frame (behind its virtio header) is from and to; empty for anything else."""
    packet = frame[VNET_HEADER + 14 :]
    if int.from_bytes(frame[VNET_HEADER + 12 : VNET_HEADER + 14], "big") != ETH_P_IP or len(packet) < 20:
        return ()
    later_fragment = int.from_bytes(packet[6:8], "big") & 0x1FFF
    segment = packet[(packet[0] & 0xF) * 4 :]
    if packet[9] != socket.IPPROTO_TCP or later_fragment or len(segment) < 4:
        return ()
    return int.from_bytes(segment[:2], "big"), int.from_bytes(segment[2:4], "big")


def is_arp(frame: bytes) -> bool:
    return int.from_bytes(frame[VNET_HEADER + 12 : VNET_HEADER + 14], "big") == ETH_P_ARP


@dataclass(kw_only=True)
class Line:
    """The frames in flight on an impaired line. Pure: the time is told to it."""

    impairment: Impairment
    chance: random.Random = field(default_factory=random.Random)
    _queue: list[tuple[float, int, int, bytes]] = field(default_factory=list)
    _sequence: int = 0

    def __post_init__(self) -> None:
        self._blocked = [ipaddress.IPv4Network(text) for text in self.impairment.blocked]

    def accept(self, frame: bytes, toward: int, now: float) -> None:
        """Take a frame that goes to `toward`; it may be lost."""
        if self.chance.uniform(0, 100) < self.impairment.loss_percent or len(self._queue) >= MAX_QUEUED:
            return
        if self._is_blocked(frame):
            return
        jitter = self.chance.uniform(-self.impairment.jitter_ms, self.impairment.jitter_ms)
        delay = max(0.0, self.impairment.delay_ms + jitter) / 1000
        self._sequence += 1
        heapq.heappush(self._queue, (now + delay, self._sequence, toward, frame))

    def _is_blocked(self, frame: bytes) -> bool:
        opened = self.impairment.open_ports
        if not self._blocked or (opened and (is_arp(frame) or set(opened).intersection(tcp_ports(frame)))):
            return False
        return any(
            ipaddress.IPv4Address(address) in network
            for address in addresses(frame)
            for network in self._blocked
        )

    def due(self, now: float) -> list[tuple[int, bytes]]:
        """The frames whose time has come, each with where it goes."""
        ready = []
        while self._queue and self._queue[0][0] <= now:
            _, _, toward, frame = heapq.heappop(self._queue)
            ready.append((toward, frame))
        return ready

    def wait(self, now: float) -> float | None:
        """Seconds until the next frame is due; None while nothing is in flight."""
        return max(0.0, self._queue[0][0] - now) if self._queue else None


def open_port(interface: str) -> socket.socket:
    """A raw socket that sees what arrives on an interface, and not what it sent itself."""
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    port.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    port.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    port.bind((interface, ETH_P_ALL))
    port.setblocking(False)
    return port


def relay(line: Line, tap: socket.socket, bridge: socket.socket) -> None:
    """Carry frames until the process ends."""
    ports = (tap, bridge)
    other = {tap.fileno(): 1, bridge.fileno(): 0}
    while True:
        readable, _, _ = select.select(ports, (), (), line.wait(time.monotonic()))
        for port in readable:
            try:
                frame = port.recv(LARGEST)
            except (BlockingIOError, OSError):  # the interface went down; it may come back
                continue
            line.accept(frame, other[port.fileno()], time.monotonic())
        for toward, frame in line.due(time.monotonic()):
            try:
                ports[toward].send(frame)
            except OSError:  # a full or closed interface loses the frame, as a line does
                continue


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tap", required=True)
    parser.add_argument("--bridge", required=True)
    parser.add_argument("--impairment", required=True, type=Path)
    args = parser.parse_args()
    line = Line(impairment=msgspec.json.decode(args.impairment.read_bytes(), type=Impairment))
    tap, bridge = open_port(args.tap), open_port(args.bridge)
    sys.stderr.write("relaying\n")
    sys.stderr.flush()
    relay(line, tap, bridge)


if __name__ == "__main__":
    main()
