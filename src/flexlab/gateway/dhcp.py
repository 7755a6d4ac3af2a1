"""The lab's DHCP server: each machine gets the address that its hardware address stands for."""

from __future__ import annotations

import socket
import struct
from enum import IntEnum

from flexlab.gateway.zone import Zone
from flexlab.model import DOMAIN, GATEWAY, NODE_NETWORK

COOKIE = b"\x63\x82\x53\x63"
LEASE_SECONDS = 86_400


class Kind(IntEnum):
    """DHCP message types that matter here."""

    DISCOVER = 1
    OFFER = 2
    REQUEST = 3
    ACK = 5
    NAK = 6


def answer(packet: bytes, zone: Zone) -> bytes | None:
    """The reply to a DISCOVER or REQUEST of a machine of this lab; None for anything else."""
    if len(packet) < 241 or packet[0] != 1 or packet[236:240] != COOKIE:
        return None
    options = parse_options(packet[240:])
    kind = (options.get(53) or b"\0")[0]
    node = zone.find_node(mac=packet[28:34].hex(":"))
    if node is None or kind not in {Kind.DISCOVER, Kind.REQUEST}:
        return None
    wanted = options.get(50, packet[12:16])
    if kind == Kind.REQUEST and wanted != node.address.packed:
        return _render(packet, b"\0" * 4, Kind.NAK, {})
    return _render(
        packet,
        node.address.packed,
        Kind.OFFER if kind == Kind.DISCOVER else Kind.ACK,
        {
            1: NODE_NETWORK.netmask.packed,
            3: GATEWAY.packed,
            6: GATEWAY.packed,
            12: node.name.encode(),
            15: DOMAIN.encode(),
            42: GATEWAY.packed,
            51: struct.pack("!I", LEASE_SECONDS),
        },
    )


def parse_options(data: bytes) -> dict[int, bytes]:
    """DHCP options by their number; stops at the first that is cut short."""
    options = {}
    at = 0
    while at < len(data) and data[at] != 255:
        if data[at] == 0:
            at += 1
            continue
        if at + 1 >= len(data):
            break
        end = at + 2 + data[at + 1]
        options[data[at]] = data[at + 2 : end]
        at = end
    return options


def _render(request: bytes, address: bytes, kind: Kind, options: dict[int, bytes]) -> bytes:
    head = struct.pack(
        "!BBBB4sHH4s4s4s4s16s64s128s",
        2,
        1,
        6,
        0,
        request[4:8],
        0,
        struct.unpack("!H", request[10:12])[0],
        b"\0" * 4,
        address,
        GATEWAY.packed,
        request[24:28],
        request[28:44],
        b"",
        b"",
    )
    body = {53: bytes([kind]), 54: socket.inet_aton(str(GATEWAY)), **options}
    packed = b"".join(bytes([number, len(value)]) + value for number, value in body.items())
    return (head + COOKIE + packed + b"\xff").ljust(300, b"\0")
