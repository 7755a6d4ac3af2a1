"""The lab's name server: the lab's own names, and nothing else."""

from __future__ import annotations

import struct

from flexlab.gateway.faults import DnsFault
from flexlab.gateway.zone import Zone

TYPE_A = 1
NO_ERROR, SERVFAIL, NXDOMAIN = 0, 2, 3
TTL = 5


def answer(query: bytes, zone: Zone) -> bytes | None:
    """The reply to a query; None where there shall be no reply, or it is no query."""
    try:
        name, kind, end = parse_question(query)
    except (IndexError, UnicodeDecodeError, struct.error):
        return None
    match zone.faults().dns:
        case DnsFault.TIMEOUT:
            return None
        case DnsFault.NXDOMAIN:
            return render_reply(query, end, NXDOMAIN)
        case DnsFault.SERVFAIL:
            return render_reply(query, end, SERVFAIL)
        case None:
            pass
    address = zone.find_address(name)
    if address is None:
        return render_reply(query, end, NXDOMAIN)
    return render_reply(query, end, NO_ERROR, address.packed if kind == TYPE_A else None)


def parse_question(query: bytes) -> tuple[str, int, int]:
    """Name, record type and the offset behind the first question."""
    labels = []
    at = 12
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode("ascii"))
        at += 1 + length
    (kind,) = struct.unpack_from("!H", query, at + 1)
    return ".".join(labels), kind, at + 5


def render_reply(query: bytes, question_end: int, code: int, address: bytes | None = None) -> bytes:
    """An authoritative reply with at most one address record."""
    recursion_desired = query[2] & 0x01
    header = query[:2] + struct.pack(
        "!BBHHHH", 0x84 | recursion_desired, 0x80 | code, 1, 1 if address else 0, 0, 0
    )
    record = struct.pack("!HHHIH", 0xC00C, TYPE_A, 1, TTL, len(address)) + address if address else b""
    return header + query[12:question_end] + record
