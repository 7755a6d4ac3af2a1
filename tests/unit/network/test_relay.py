"""A bad line does what was asked for, no more: a test of a retry is worth what its fault is worth."""

from __future__ import annotations

import random
import socket

from hypothesis import given
from hypothesis import strategies as st

from flexlab.network import Impairment
from flexlab.network.relay import MAX_QUEUED, VNET_HEADER, Line, addresses, tcp_ports

TO_BRIDGE, TO_TAP = 1, 0


def ip_frame(source: str, target: str) -> bytes:
    ethernet = bytes(12) + b"\x08\x00"
    packet = bytes(12) + socket.inet_aton(source) + socket.inet_aton(target)
    return bytes(VNET_HEADER) + ethernet + packet


def tcp_frame(source: str, target: str, *ports: int) -> bytes:
    head = bytes((0x46,)) + bytes(8) + bytes((socket.IPPROTO_TCP,)) + bytes(2)
    options = bytes(4)
    segment = b"".join(port.to_bytes(2, "big") for port in ports) + bytes(16)
    packet = head + socket.inet_aton(source) + socket.inet_aton(target) + options + segment
    return bytes(VNET_HEADER) + bytes(12) + b"\x08\x00" + packet


def arp_frame(source: str, target: str) -> bytes:
    ethernet = bytes(12) + b"\x08\x06"
    packet = bytes(14) + socket.inet_aton(source) + bytes(6) + socket.inet_aton(target)
    return bytes(VNET_HEADER) + ethernet + packet


def test_a_delayed_frame_arrives_after_its_delay_and_not_before() -> None:
    line = Line(impairment=Impairment(delay_ms=100))
    line.accept(b"frame", TO_BRIDGE, now=10.0)
    assert line.due(10.099) == []
    assert round(line.wait(10.0) or 0, 6) == 0.1
    assert line.due(10.1001) == [(TO_BRIDGE, b"frame")]
    assert line.wait(10.2) is None


def test_frames_keep_their_order_without_jitter() -> None:
    line = Line(impairment=Impairment(delay_ms=5))
    for number in range(100):
        line.accept(str(number).encode(), TO_TAP, now=1.0)
    assert [frame for _, frame in line.due(2.0)] == [str(number).encode() for number in range(100)]


def test_a_cut_line_lets_nothing_through() -> None:
    line = Line(impairment=Impairment(loss_percent=100))
    for _ in range(1000):
        line.accept(b"frame", TO_BRIDGE, now=0.0)
    assert line.due(100.0) == []


def test_a_lossy_line_loses_about_its_share() -> None:
    line = Line(impairment=Impairment(loss_percent=30), chance=random.Random(1))
    for _ in range(10_000):
        line.accept(b"frame", TO_BRIDGE, now=0.0)
    assert 6_700 < len(line.due(1.0)) < 7_300


def test_a_partition_blocks_both_directions_and_nobody_else() -> None:
    line = Line(impairment=Impairment(blocked=("10.200.0.21/32", "10.244.1.0/24")))
    through = ip_frame("10.200.0.20", "10.200.0.10")
    for frame in (
        ip_frame("10.200.0.20", "10.200.0.21"),
        ip_frame("10.200.0.21", "10.200.0.20"),
        ip_frame("10.244.0.5", "10.244.1.7"),
        arp_frame("10.200.0.20", "10.200.0.21"),
        through,
    ):
        line.accept(frame, TO_BRIDGE, now=0.0)
    assert line.due(1.0) == [(TO_BRIDGE, through)]


def test_a_port_that_stays_open_is_the_only_way_to_what_is_blocked() -> None:
    line = Line(impairment=Impairment(blocked=("10.200.0.1/32",), open_ports=(22, 3128)))
    through = [
        tcp_frame("10.200.0.20", "10.200.0.1", 40_000, 3128),
        tcp_frame("10.200.0.1", "10.200.0.20", 3128, 40_000),
        tcp_frame("10.200.0.1", "10.200.0.20", 50_000, 22),
        arp_frame("10.200.0.20", "10.200.0.1"),
        ip_frame("10.200.0.20", "10.200.0.10"),
    ]
    for frame in (
        tcp_frame("10.200.0.20", "10.200.0.1", 40_000, 8080),
        ip_frame("10.200.0.20", "10.200.0.1"),
        *through,
    ):
        line.accept(frame, TO_BRIDGE, now=0.0)
    assert [frame for _, frame in line.due(1.0)] == through


def test_a_flooded_line_does_not_eat_the_machine() -> None:
    line = Line(impairment=Impairment(delay_ms=1000))
    for _ in range(MAX_QUEUED + 500):
        line.accept(b"frame", TO_BRIDGE, now=0.0)
    assert len(line.due(2.0)) == MAX_QUEUED


@given(st.binary(max_size=80))
def test_no_frame_can_stop_the_relay(frame: bytes) -> None:
    assert len(addresses(frame)) in {0, 2}
    assert len(tcp_ports(frame)) in {0, 2}
