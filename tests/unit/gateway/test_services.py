"""What a machine asks the gateway, byte for byte."""

from __future__ import annotations

import base64
import json
import struct
from http import HTTPStatus

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flexlab.gateway import DnsFault, GatewayFaults, dhcp, dns, metadata, ntp, save_faults
from flexlab.gateway.proxy import parse_request
from flexlab.gateway.zone import Zone

SHARED_ZONE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)


def ask(name: str, kind: int = dns.TYPE_A) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return b"\xab\xcd\x01\x00\0\x01\0\0\0\0\0\0" + labels + b"\0" + struct.pack("!HH", kind, 1)


def code_of(reply: bytes | None) -> int:
    assert reply is not None
    return reply[3] & 0x0F


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("edge2.lab.internal", bytes([10, 200, 0, 21])),
        ("EDGE2.lab.internal", bytes([10, 200, 0, 21])),
        ("edge1", bytes([10, 200, 0, 20])),
        ("api.lab.internal", bytes([10, 200, 0, 10])),
        ("registry.lab.internal", bytes([10, 200, 0, 1])),
    ],
)
def test_a_machine_resolves_the_names_of_its_lab(zone: Zone, name: str, address: bytes) -> None:
    reply = dns.answer(ask(name), zone)
    assert reply is not None
    assert reply[:2] == b"\xab\xcd"
    assert reply[-4:] == address


def test_names_outside_of_the_lab_do_not_exist(zone: Zone) -> None:
    assert code_of(dns.answer(ask("example.com"), zone)) == dns.NXDOMAIN


def test_a_name_without_an_ipv6_address_still_exists(zone: Zone) -> None:
    reply = dns.answer(ask("edge1.lab.internal", kind=28), zone)
    assert code_of(reply) == dns.NO_ERROR
    assert reply is not None
    assert struct.unpack_from("!H", reply, 6) == (0,)


def test_broken_dns_breaks_in_the_way_that_was_asked_for(zone: Zone) -> None:
    folder = zone.lab_folder / "gateway"
    save_faults(folder, GatewayFaults(dns=DnsFault.TIMEOUT))
    assert dns.answer(ask("edge1"), zone) is None
    save_faults(folder, GatewayFaults(dns=DnsFault.SERVFAIL))
    assert code_of(dns.answer(ask("edge1"), zone)) == dns.SERVFAIL
    save_faults(folder, GatewayFaults(dns=DnsFault.NXDOMAIN))
    assert code_of(dns.answer(ask("edge1"), zone)) == dns.NXDOMAIN
    save_faults(folder, GatewayFaults())
    assert code_of(dns.answer(ask("edge1"), zone)) == dns.NO_ERROR


def dhcp_request(kind: int, mac: bytes, wanted: bytes = b"") -> bytes:
    head = struct.pack("!BBBB", 1, 1, 6, 0) + b"\x01\x02\x03\x04" + bytes(20) + mac + bytes(10) + bytes(192)
    options = bytes([53, 1, kind]) + (bytes([50, 4]) + wanted if wanted else b"")
    return head + dhcp.COOKIE + options + b"\xff"


EDGE2_MAC = bytes.fromhex("525400c80015")
EDGE2_ADDRESS = bytes([10, 200, 0, 21])


def test_a_machine_gets_its_own_address_name_and_servers(zone: Zone) -> None:
    offer = dhcp.answer(dhcp_request(dhcp.Kind.DISCOVER, EDGE2_MAC), zone)
    assert offer is not None
    options = dhcp.parse_options(offer[240:])
    assert offer[4:8] == b"\x01\x02\x03\x04"
    assert offer[16:20] == EDGE2_ADDRESS
    assert options[53] == bytes([dhcp.Kind.OFFER])
    assert options[12] == b"edge2"
    assert options[3] == options[6] == options[42] == bytes([10, 200, 0, 1])
    accepted = dhcp.answer(dhcp_request(dhcp.Kind.REQUEST, EDGE2_MAC, EDGE2_ADDRESS), zone)
    assert accepted is not None
    assert dhcp.parse_options(accepted[240:])[53] == bytes([dhcp.Kind.ACK])


def test_a_machine_with_another_labs_lease_must_ask_anew(zone: Zone) -> None:
    refused = dhcp.answer(dhcp_request(dhcp.Kind.REQUEST, EDGE2_MAC, bytes([10, 1, 2, 3])), zone)
    assert refused is not None
    assert dhcp.parse_options(refused[240:])[53] == bytes([dhcp.Kind.NAK])


def test_an_unknown_machine_gets_no_address(zone: Zone) -> None:
    assert dhcp.answer(dhcp_request(dhcp.Kind.DISCOVER, bytes(6)), zone) is None


def test_the_time_server_answers_a_client_with_its_own_stamp() -> None:
    sent = bytes(range(8))
    reply = ntp.answer(b"\x23" + bytes(39) + sent, now=1_000_000_000.5)
    assert reply is not None
    assert len(reply) == 48
    assert reply[0] == 0x24
    assert reply[24:32] == sent
    assert struct.unpack("!Q", reply[40:48])[0] / 2**32 == 1_000_000_000.5 + ntp.SINCE_1900


def test_the_time_server_ignores_what_is_no_client() -> None:
    assert ntp.answer(b"\x24" + bytes(47), now=0) is None
    assert ntp.answer(b"\x23", now=0) is None


def test_metadata_needs_its_header_and_refuses_proxies(zone: Zone) -> None:
    target = "/metadata/instance?api-version=2021-01-01"
    assert metadata.answer(target, {}, "10.200.0.20", zone).status == HTTPStatus.BAD_REQUEST
    forwarded = {"metadata": "true", "x-forwarded-for": "10.200.0.20"}
    assert metadata.answer(target, forwarded, "10.200.0.20", zone).status == HTTPStatus.BAD_REQUEST
    reply = metadata.answer(target, {"metadata": "true"}, "10.200.0.20", zone)
    assert json.loads(reply.body)["compute"]["name"] == "edge1"


def test_each_machine_gets_its_own_user_data(zone: Zone) -> None:
    folder = zone.lab_folder / "nodes" / "edge2"
    folder.mkdir(parents=True)
    (folder / metadata.USER_DATA).write_bytes(b"kind: NodeConfig")
    target = "/metadata/instance/compute/userData?api-version=2021-01-01&format=text"
    mine = metadata.answer(target, {"metadata": "true"}, "10.200.0.21", zone)
    others = metadata.answer(target, {"metadata": "true"}, "10.200.0.20", zone)
    assert base64.b64decode(mine.body) == b"kind: NodeConfig"
    assert others.body == b""


def test_the_proxy_passes_a_request_on_as_its_server_expects_it() -> None:
    head = b"GET http://mirror.example:8080/a?b=c HTTP/1.1\r\nHost: a\r\nProxy-Connection: x\r\nX: y"
    request = parse_request(head)
    assert request is not None
    assert (request.host, request.port) == ("mirror.example", 8080)
    assert request.head == (b"GET /a?b=c HTTP/1.1\r\nHost: a\r\nX: y\r\nConnection: close\r\n\r\n")


def test_the_proxy_understands_connect() -> None:
    request = parse_request(b"CONNECT mirror.example:443 HTTP/1.1\r\nHost: x")
    assert request is not None
    assert (request.method, request.host, request.port, request.head) == (
        "CONNECT",
        "mirror.example",
        443,
        b"",
    )


@pytest.mark.parametrize(
    "head", [b"", b"GET / HTTP/1.1", b"GET ftp://x/ HTTP/1.1", b"nonsense", b"GET http://[x HTTP/1.1"]
)
def test_the_proxy_refuses_what_it_does_not_understand(head: bytes) -> None:
    assert parse_request(head) is None


@SHARED_ZONE
@given(st.binary(max_size=600))
def test_no_datagram_can_stop_a_service(zone: Zone, packet: bytes) -> None:
    for reply in (dns.answer(packet, zone), dhcp.answer(packet, zone), ntp.answer(packet, 0.0)):
        assert reply is None or len(reply) >= 12
