"""Every fault as a plain client meets it, over real sockets; and the server as it is without faults."""

from __future__ import annotations

import hashlib
import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import IPv4Address
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from flexlab.artifact_server import (
    ArtifactServer,
    BadTls,
    CaptivePortal,
    Fault,
    FaultFile,
    FlipBit,
    NotFound,
    Reset,
    Slow,
    Stall,
    Throttle,
    TlsFlaw,
    Truncate,
    serve,
    write_faults,
)
from flexlab.pki import CertificateAuthority, Identity, TlsFiles, Usage, create_authority
from flexnode.clock import FakeClock

CONTENT = bytes(range(256)) * 400
DIGEST = hashlib.sha256(CONTENT).hexdigest()
BLOB = f"/sha256/{DIGEST}"

CLOSED_IN_GOOD_ORDER = b""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    root = tmp_path / "store"
    (root / "sha256").mkdir(parents=True)
    (root / "sha256" / DIGEST).write_bytes(CONTENT)
    return root


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()


def connect(
    url: str, context: ssl.SSLContext | None = None, timeout: float = 10
) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    assert parts.hostname
    if parts.scheme == "https":
        return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=timeout, context=context)
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)


def get(
    server: ArtifactServer, path: str = BLOB, headers: dict[str, str] | None = None, method: str = "GET"
) -> Answer:
    with closing(connect(server.url)) as connection:
        connection.request(method, path, headers=headers or {})
        return Answer(connection.getresponse())


def always(*faults: Fault) -> Callable[[], tuple[Fault, ...]]:
    return lambda: faults


# Without faults


def test_a_file_is_served_by_its_digest(store: Path) -> None:
    with serve(store=store) as server:
        answer = get(server)
    assert (answer.status, answer.body) == (200, CONTENT)
    assert answer.headers["ETag"] == f'"sha256:{DIGEST}"'
    assert server.requests[0].path == BLOB


def test_a_registry_client_finds_the_same_file_as_a_blob(store: Path) -> None:
    with serve(store=store) as server:
        assert get(server, "/v2/").body == b"{}"
        answer = get(server, f"/v2/flexnode/parts/blobs/sha256:{DIGEST}")
        missing = get(server, f"/v2/flexnode/parts/blobs/sha256:{'0' * 64}")
    assert answer.body == CONTENT
    assert answer.headers["Docker-Content-Digest"] == f"sha256:{DIGEST}"
    assert (missing.status, json.loads(missing.body)["errors"][0]["code"]) == (404, "BLOB_UNKNOWN")


def test_the_size_is_known_before_the_download(store: Path) -> None:
    with serve(store=store) as server:
        answer = get(server, method="HEAD")
    assert (answer.headers["Content-Length"], answer.body) == (str(len(CONTENT)), b"")


@pytest.mark.parametrize(
    ("wanted", "status", "body"),
    [
        ("bytes=100-", 206, CONTENT[100:]),
        ("bytes=0-9", 206, CONTENT[:10]),
        ("bytes=-10", 206, CONTENT[-10:]),
        ("bytes=10-999999999", 206, CONTENT[10:]),
        ("bytes=999999999-", 416, b""),
        ("bytes=20-10", 200, CONTENT),
        ("lines=1-2", 200, CONTENT),
    ],
)
def test_a_download_can_be_resumed(store: Path, wanted: str, status: int, body: bytes) -> None:
    with serve(store=store) as server:
        answer = get(server, headers={"Range": wanted})
    assert (answer.status, answer.body) == (status, body)


def test_a_resumed_download_says_where_it_goes_on(store: Path) -> None:
    with serve(store=store) as server:
        answer = get(server, headers={"Range": "bytes=100-", "If-Range": f'"sha256:{DIGEST}"'})
        other = get(server, headers={"Range": "bytes=100-", "If-Range": '"another file"'})
    assert answer.headers["Content-Range"] == f"bytes 100-{len(CONTENT) - 1}/{len(CONTENT)}"
    assert (other.status, other.body) == (200, CONTENT)


@pytest.mark.parametrize(
    "path", ["/sha256/../../etc/passwd", "/sha256/x", f"/sha256/{'0' * 64}", "/etc/passwd"]
)
def test_nothing_but_files_of_the_store_can_be_read(store: Path, path: str) -> None:
    with serve(store=store) as server:
        assert get(server, path).status == 404


def test_the_index_lists_what_there_is(store: Path) -> None:
    with serve(store=store) as server:
        text = get(server, "/")
        data = get(server, "/", {"Accept": "application/json"})
    assert text.body.decode() == f"{DIGEST}  {len(CONTENT)}\n"
    assert json.loads(data.body) == [{"sha256": DIGEST, "size": len(CONTENT)}]


# Faults


def test_flip_bit_gives_a_file_of_the_right_size_that_is_wrong_in_one_bit(store: Path) -> None:
    with serve(store=store, faults=always(FlipBit(offset=300))) as server:
        body = get(server).body
        resumed = get(server, headers={"Range": "bytes=299-"}).body
    wrong = [index for index, byte in enumerate(body) if byte != CONTENT[index]]
    assert (len(body), wrong, body[300] ^ CONTENT[300]) == (len(CONTENT), [300], 1)
    assert resumed == body[299:]


def test_truncate_promises_more_than_it_sends(store: Path) -> None:
    with (
        serve(store=store, faults=always(Truncate(after=1000))) as server,
        closing(connect(server.url)) as connection,
    ):
        connection.request("GET", BLOB)
        response = connection.getresponse()
        assert response.headers["Content-Length"] == str(len(CONTENT))
        with pytest.raises(http.client.IncompleteRead) as caught:
            response.read()
    assert caught.value.partial == CONTENT[:1000]


def test_truncate_shows_even_on_a_file_that_is_smaller(store: Path) -> None:
    with (
        serve(store=store, faults=always(Truncate(after=10**9))) as server,
        pytest.raises(http.client.IncompleteRead),
    ):
        get(server)


def test_stall_sends_some_bytes_and_then_keeps_silent(store: Path) -> None:
    with (
        serve(store=store, faults=always(Stall(after=1000))) as server,
        closing(connect(server.url, timeout=0.3)) as connection,
    ):
        connection.request("GET", BLOB)
        response = connection.getresponse()
        assert response.read(1000) == CONTENT[:1000]
        with pytest.raises(TimeoutError):
            response.read(1)


def test_slow_keeps_to_its_rate(store: Path) -> None:
    with (
        serve(store=store, faults=always(Slow(bytes_per_second=100))) as server,
        closing(connect(server.url)) as connection,
    ):
        connection.request("GET", BLOB)
        response = connection.getresponse()
        start = time.monotonic()
        assert response.read(40) == CONTENT[:40]
        assert time.monotonic() - start > 0.25


def test_not_found_hides_a_file_that_is_there(store: Path) -> None:
    with serve(store=store, faults=always(NotFound())) as server:
        assert get(server).status == 404


@pytest.mark.parametrize("status", [429, 503])
def test_throttle_names_seconds(store: Path, status: int) -> None:
    fault = Throttle(status=429 if status == 429 else 503, retry_after=7)
    with serve(store=store, faults=always(fault)) as server:
        answer = get(server)
    assert (answer.status, answer.headers["Retry-After"]) == (status, "7")


def test_throttle_names_a_moment(store: Path) -> None:
    clock = FakeClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
    fault = Throttle(retry_after=90, as_date=True)
    with serve(store=store, faults=always(fault), clock=clock) as server:
        answer = get(server)
    assert parsedate_to_datetime(answer.headers["Retry-After"]) == datetime(2026, 3, 1, 12, 1, 30, tzinfo=UTC)


def test_a_captive_portal_claims_success(store: Path) -> None:
    with serve(store=store, faults=always(CaptivePortal())) as server:
        answer = get(server)
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    assert b"<html>" in answer.body


@pytest.mark.parametrize("after", [None, 1000])
def test_reset_ends_the_connection_with_a_tcp_reset(store: Path, after: int | None) -> None:
    received = b""
    with serve(store=store, faults=always(Reset(after=after))) as server:
        parts = urlsplit(server.url)
        with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
            connection.sendall(f"GET {BLOB} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            while True:
                try:
                    data = connection.recv(65536)
                except ConnectionResetError:
                    break
                assert data != CLOSED_IN_GOOD_ORDER
                received += data
    assert received.partition(b"\r\n\r\n")[2] == CONTENT[: after or 0]


# TLS


def lab_tls(folder: Path) -> tuple[CertificateAuthority, TlsFiles]:
    authority = create_authority("lab")
    identity = Identity(common_name="x", addresses=(IPv4Address("127.0.0.1"),), usages=(Usage.SERVER,))
    return authority, authority.issue(identity).write(folder, "server")


def trusting(authority: CertificateAuthority) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority.certificate.decode())


@pytest.mark.parametrize(
    ("faults", "problem"),
    [
        ((), None),
        ((BadTls(),), "unable to get local issuer certificate"),
        ((BadTls(flaw=TlsFlaw.WRONG_HOST),), "IP address mismatch"),
        ((BadTls(flaw=TlsFlaw.EXPIRED),), "certificate has expired"),
    ],
    ids=["good", "unknown authority", "wrong host", "expired"],
)
def test_bad_tls_is_wrong_in_exactly_one_point(
    store: Path, tmp_path: Path, faults: tuple[Fault, ...], problem: str | None
) -> None:
    authority, files = lab_tls(tmp_path)
    with (
        serve(store=store, faults=always(*faults), tls=files, authority=authority) as server,
        closing(connect(server.url, trusting(authority))) as connection,
    ):
        assert server.url.startswith("https://")
        if problem is None:
            connection.request("GET", BLOB)
            assert connection.getresponse().read() == CONTENT
        else:
            with pytest.raises(ssl.SSLCertVerificationError, match=problem):
                connection.request("GET", BLOB)
            assert server.hits(faults[0]) == 1


@pytest.mark.parametrize("fault", [Truncate(after=10), Reset(after=10)], ids=["truncate", "reset"])
def test_connections_break_under_tls_too(store: Path, tmp_path: Path, fault: Fault) -> None:
    authority, files = lab_tls(tmp_path)
    with (
        serve(store=store, faults=always(fault), tls=files) as server,
        closing(connect(server.url, trusting(authority))) as connection,
    ):
        connection.request("GET", BLOB)
        response = connection.getresponse()
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            response.read()


# Which requests a fault hits


def test_a_fault_hits_only_the_first_requests_and_counts_them(store: Path) -> None:
    fault = Throttle(times=2)
    with serve(store=store, faults=always(fault)) as server:
        statuses = [get(server).status for _ in range(4)]
        assert (statuses, server.hits(fault), server.hits()) == ([429, 429, 200, 200], 2, 2)
        assert [request.fault for request in server.requests] == ["throttle", "throttle", None, None]


def test_faults_follow_one_another(store: Path) -> None:
    with serve(store=store, faults=always(Throttle(times=1), NotFound(times=1), CaptivePortal())) as server:
        assert [get(server).status for _ in range(3)] == [429, 404, 200]
        assert get(server).body != CONTENT


def test_a_fault_hits_only_the_path_or_the_file_that_it_names(store: Path) -> None:
    other = hashlib.sha256(b"other").hexdigest()
    (store / "sha256" / other).write_bytes(b"other")
    with serve(store=store, faults=always(NotFound(digest=other), Throttle(path="/v2/"))) as server:
        assert get(server).status == 200
        assert get(server, f"/sha256/{other}").status == 404
        assert get(server, f"/v2/x/blobs/sha256:{other}").status == 404
        assert get(server, f"/v2/x/blobs/sha256:{DIGEST}").status == 429


def test_a_question_for_the_size_uses_up_no_fault_of_the_body(store: Path) -> None:
    with serve(store=store, faults=always(FlipBit(times=1))) as server:
        assert get(server, method="HEAD").status == 200
        assert server.hits() == 0
        assert get(server).body != CONTENT


def test_faults_are_switched_while_the_server_runs(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "faults.json"
    with serve(store=store, faults=FaultFile(file)) as server:
        assert get(server).status == 200
        (fault,) = write_faults(file, [Throttle(times=1)])
        assert [get(server).status, get(server).status] == [429, 200]
        write_faults(file, [Throttle(times=1)])
        assert get(server).status == 429, "the same fault, switched on again, counts from zero"
        write_faults(file, [])
        assert get(server).status == 200
        state = json.loads(get(server, "/-/state").body)
    assert state["hits"][fault.id] == 1
    assert [request["fault"] for request in state["requests"]] == [None, "throttle", None, "throttle", None]


def test_an_unreadable_faults_file_is_not_taken_for_no_faults(store: Path, tmp_path: Path) -> None:
    (tmp_path / "faults.json").write_text('{"faults": [{"kind": "no-such-fault"}]}')
    with serve(store=store, faults=FaultFile(tmp_path / "faults.json")) as server:
        answer = get(server)
    assert answer.status == 500
    assert b"no-such-fault" in answer.body


# Many clients


def test_clients_that_hang_hold_up_neither_others_nor_the_end(store: Path) -> None:
    stalled: list[socket.socket | http.client.HTTPConnection] = []
    with serve(store=store, faults=always(Stall(after=10))) as server:
        parts = urlsplit(server.url)
        for _ in range(10):
            silent = socket.create_connection((parts.hostname, parts.port), timeout=10)
            waiting = connect(server.url)
            waiting.request("GET", BLOB)
            assert waiting.getresponse().read(10) == CONTENT[:10]
            stalled += [silent, waiting]
        for _ in range(10):
            with closing(connect(server.url)) as connection:
                connection.request("GET", "/")
                assert connection.getresponse().status == 200
        start = time.monotonic()
    assert time.monotonic() - start < 2
    for each in stalled:
        each.close()


def test_a_handshake_that_never_begins_holds_up_nobody(store: Path, tmp_path: Path) -> None:
    authority, files = lab_tls(tmp_path)
    with serve(store=store, tls=files) as server:
        parts = urlsplit(server.url)
        with socket.create_connection((parts.hostname, parts.port), timeout=10):
            with closing(connect(server.url, trusting(authority))) as connection:
                connection.request("GET", BLOB)
                assert connection.getresponse().read() == CONTENT
            start = time.monotonic()
    assert time.monotonic() - start < 2
