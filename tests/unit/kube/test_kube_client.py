"""What goes over the wire: as whom the client comes, what it believes, and what it makes of every refusal."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from faults.raw_server import closed_port
from flexlab.pki import CertificateAuthority, Identity, create_authority
from flexnode.clock import Clock, FakeClock, SystemClock
from flexnode.errors import KubeError
from flexnode.kube import (
    ClientCertificate,
    ClientCertificateFiles,
    Connection,
    Content,
    KubeClient,
    Request,
    TokenFile,
)
from flexnode.kube.nodes import cordon
from flexnode.kube.request import with_body
from flexnode.secret import Secret
from unit.kube.api_server import ApiServer, Reply, always, as_json, refusal, serve

PATH = "/api/v1/nodes"
TOKEN = Secret("abcdef.0123456789abcdef")


def opened(server: ApiServer, clock: Clock | None = None, **changes: Any) -> KubeClient:
    return KubeClient(server.connection(**changes), clock or SystemClock())


def ask(connection: Connection, request: Request | None = None) -> bytes:
    with KubeClient(connection, SystemClock()) as client:
        return client.send(request or Request(path=PATH, timeout=5))


def failing(connection: Connection, request: Request | None = None) -> KubeError:
    with pytest.raises(KubeError) as caught:
        ask(connection, request)
    assert caught.value.hint
    return caught.value


def test_a_request_arrives_as_it_was_described() -> None:
    request = with_body(
        "PATCH", f"{PATH}/a", {"spec": {"x": "ü"}}, content=Content.MERGE, query=(("dryRun", "All"),)
    )
    with serve(always(as_json({"kind": "Node"}))) as server:
        assert json.loads(ask(server.connection(), request)) == {"kind": "Node"}
    (seen,) = server.seen
    assert (seen.method, seen.path) == ("PATCH", "/api/v1/nodes/a?dryRun=All")
    assert seen.headers["Content-Type"] == "application/merge-patch+json"
    assert seen.document == {"spec": {"x": "ü"}}
    assert "Authorization" not in seen.headers


def test_a_server_behind_a_path_is_reached() -> None:
    with serve(always(as_json({}))) as server:
        ask(server.connection(server=server.url + "/k8s/clusters/c-1/"))
    assert server.seen[0].path == f"/k8s/clusters/c-1{PATH}"


def test_a_server_that_goes_by_another_name_is_verified_against_that_name() -> None:
    with serve(always(as_json({}))) as server:
        ask(server.connection(server_name="kubernetes"))
        error = failing(server.connection(server_name="elsewhere.example"))
    assert error.code == "kube/tls-untrusted"


class TestCredentials:
    def test_a_token_is_sent(self) -> None:
        with serve(always(as_json({}))) as server:
            ask(server.connection(credential=TOKEN))
        assert server.seen[0].headers["Authorization"] == f"Bearer {TOKEN.reveal()}"

    def test_a_token_file_is_read_again_when_it_changes(self, tmp_path: Path) -> None:
        path = tmp_path / "token"
        path.write_text("first\n")
        with serve(always(as_json({}))) as server:
            connection = server.connection(credential=TokenFile(path=path))
            with KubeClient(connection, SystemClock()) as client:
                client.send(Request(path=PATH))
                replace(path, "second")
                client.send(Request(path=PATH))
        assert [seen.headers["Authorization"] for seen in server.seen] == ["Bearer first", "Bearer second"]

    def test_a_token_file_that_is_missing_is_named(self, tmp_path: Path) -> None:
        path = tmp_path / "token"
        with serve(always(as_json({}))) as server:
            error = failing(server.connection(credential=TokenFile(path=path)))
        assert (error.code, error.transient) == ("kube/bad-credentials", False)
        assert str(path) in error.message

    def test_a_certificate_in_memory_is_used_and_lies_on_no_disk(self) -> None:
        authority = create_authority("kubernetes")
        pair = authority.issue(Identity(common_name="system:node:edge1"))
        credential = ClientCertificate(certificate=pair.certificate.decode(), key=pair.key)
        with serve(always(as_json({})), authority=authority) as server:
            ask(server.connection(credential=credential))
        assert server.seen[0].user == "system:node:edge1"

    def test_a_rotated_certificate_is_used_for_the_next_request(self, tmp_path: Path) -> None:
        """kubelet replaces its certificate by a link; whoever goes on with the old one is locked out."""
        authority = create_authority("kubernetes")
        current = tmp_path / "current.pem"
        with serve(always(as_json({})), authority=authority) as server:
            link(current, write_pair(authority, tmp_path, "first"))
            credential = ClientCertificateFiles(certificate=current, key=current)
            with KubeClient(server.connection(credential=credential), SystemClock()) as client:
                client.send(Request(path=PATH))
                link(current, write_pair(authority, tmp_path, "second"))
                client.send(Request(path=PATH))
                client.send(Request(path=PATH))
        assert [seen.user for seen in server.seen] == ["first", "second", "second"]

    def test_a_rotation_does_not_break_a_call_that_is_under_way(self, tmp_path: Path) -> None:
        authority = create_authority("kubernetes")
        current = tmp_path / "current.pem"
        release = threading.Event()
        link(current, write_pair(authority, tmp_path, "first"))
        credential = ClientCertificateFiles(certificate=current, key=current)

        def answer(seen: object) -> Reply:
            if len(server.seen) == 1:
                release.wait(5)
            return as_json({})

        answers: list[bytes] = []
        with serve(answer, authority=authority) as server, opened(server, credential=credential) as client:
            slow = threading.Thread(target=lambda: answers.append(client.send(Request(path=PATH))))
            slow.start()
            while not server.seen:
                release.wait(0.01)
            link(current, write_pair(authority, tmp_path, "second"))
            client.send(Request(path=PATH))
            release.set()
            slow.join()
        assert answers == [b"{}"]
        assert [seen.user for seen in server.seen] == ["first", "second"]

    @pytest.mark.parametrize("wrong", ["missing", "not-a-certificate", "of-another-key"])
    def test_an_unusable_certificate_is_terminal(self, tmp_path: Path, wrong: str) -> None:
        authority = create_authority("kubernetes")
        one = authority.issue(Identity(common_name="one")).write(tmp_path, "one")
        two = authority.issue(Identity(common_name="two")).write(tmp_path, "two")
        (tmp_path / "noise").write_text("noise")
        certificate = {
            "missing": tmp_path / "nothing",
            "not-a-certificate": tmp_path / "noise",
            "of-another-key": two.certificate,
        }[wrong]
        credential = ClientCertificateFiles(certificate=certificate, key=one.key)
        error = failing(Connection(server="https://127.0.0.1:1", credential=credential))
        assert (error.code, error.transient) == ("kube/bad-credentials", False)


class TestTrust:
    def test_another_ca_is_terminal(self) -> None:
        stranger = create_authority("somebody else").certificate.decode()
        with serve(always(as_json({}))) as server:
            error = failing(server.connection(ca=stranger))
        assert (error.code, error.transient) == ("kube/tls-untrusted", False)
        assert server.seen == []

    def test_without_a_ca_the_machine_s_authorities_count(self) -> None:
        with serve(always(as_json({}))) as server:
            error = failing(server.connection(ca="", credential=TOKEN))
        assert error.code == "kube/tls-untrusted"
        assert server.seen == []  # and the token went nowhere

    def test_a_certificate_for_another_host_is_terminal(self) -> None:
        other = Identity(common_name="kube-apiserver", dns_names=("elsewhere.example",))
        with serve(always(as_json({})), identity=other) as server:
            error = failing(server.connection())
        assert (error.code, error.transient) == ("kube/tls-untrusted", False)

    def test_a_ca_that_is_no_certificate_says_so(self) -> None:
        assert failing(Connection(server="https://127.0.0.1:1", ca="noise")).code == "kube/bad-ca"


STATUS = [
    (refusal(401), "kube/unauthorized", False),
    (refusal(403), "kube/forbidden", False),
    (refusal(403, cause="NamespaceTerminating"), "kube/namespace-terminating", True),
    (refusal(404), "kube/not-found", False),
    (
        Reply(status=404, body=b"404 page not found\n", headers={"Content-Type": "text/plain"}),
        "kube/not-found",
        False,
    ),
    (refusal(409, reason="Conflict"), "kube/conflict", True),
    (refusal(409, reason="AlreadyExists"), "kube/already-exists", False),
    (refusal(410, reason="Expired"), "kube/expired", True),
    (refusal(422, reason="Invalid"), "kube/invalid", False),
    (refusal(400), "kube/invalid", False),
    (refusal(429), "kube/throttled", True),
    (refusal(429, cause="DisruptionBudget"), "kube/disruption-budget", True),
    (refusal(500), "kube/server-error", True),
    (refusal(503), "kube/server-error", True),
    (Reply(status=502, body=b"<html>bad gateway</html>"), "kube/server-error", True),
    (Reply(status=504, body=b""), "kube/server-error", True),
    (Reply(status=302, body=b"", headers={"Location": "https://login.example/"}), "kube/bad-response", False),
    (Reply(status=403, body=b"<!DOCTYPE html><p>sign in"), "kube/bad-response", False),
    (Reply(body=b" <html><title>Welcome", headers={"Content-Type": "text/html"}), "kube/bad-response", False),
    (Reply(status=511, body=b""), "kube/bad-response", False),
]


class TestAnswers:
    @pytest.mark.parametrize(("reply", "code", "transient"), STATUS)
    def test_every_status_has_a_code_and_a_kind(self, reply: Reply, code: str, transient: bool) -> None:
        with serve(always(reply)) as server:
            error = failing(server.connection())
        assert (error.code, error.transient) == (code, transient)

    def test_the_server_s_own_words_are_told(self) -> None:
        with serve(always(refusal(403, 'nodes "a" is forbidden: User "x" cannot get it'))) as server:
            error = failing(server.connection())
        assert 'GET /api/v1/nodes: HTTP 403: nodes "a" is forbidden' in error.message

    def test_a_budget_is_named(self) -> None:
        words = "The disruption budget web needs 2 healthy pods and has 2 currently"
        with serve(always(refusal(429, words, cause="DisruptionBudget"))) as server:
            assert words in failing(server.connection()).message

    @pytest.mark.parametrize("value", ["7", "Thu, 01 Jan 2099 00:00:00 GMT"])
    def test_retry_after_is_heard(self, value: str) -> None:
        with serve(always(refusal(429, headers={"Retry-After": value}))) as server:
            error = failing(server.connection())
        assert error.retry_after is not None
        assert error.retry_after >= 7

    def test_a_token_that_the_answer_repeats_is_not_quoted(self) -> None:
        words = f"invalid bearer token {TOKEN.reveal()}"
        with serve(always(refusal(401, words))) as server:
            error = failing(server.connection(credential=TOKEN))
        assert TOKEN.reveal() not in f"{error} {error.record()}"
        assert "invalid bearer token" in error.message

    def test_an_answer_of_another_shape_is_a_failure_and_no_crash(self) -> None:
        odd = as_json({"metadata": []})
        with (
            serve(always(odd)) as server,
            opened(server) as client,
            pytest.raises(KubeError) as caught,
        ):
            cordon(client, "a")
        assert (caught.value.code, caught.value.transient) == ("kube/bad-response", False)


class TestNetwork:
    def test_nobody_listens(self) -> None:
        error = failing(Connection(server=f"https://127.0.0.1:{closed_port()}"))
        assert (error.code, error.transient) == ("kube/unreachable", True)

    def test_a_name_that_does_not_exist(self) -> None:
        error = failing(Connection(server="https://api.invalid:6443"))
        assert (error.code, error.transient) == ("kube/dns", True)

    @pytest.mark.parametrize("reply", [Reply(reset=True), Reply(cut=True)], ids=["reset", "cut"])
    def test_a_connection_that_breaks(self, reply: Reply) -> None:
        with serve(always(reply)) as server:
            error = failing(server.connection())
        assert (error.code, error.transient) == ("kube/connection-lost", True)

    @pytest.mark.parametrize(
        "reply", [Reply(delay=30), Reply(body=b"x" * 1000, pause=0.1)], ids=["silent", "byte-by-byte"]
    )
    def test_a_server_that_takes_too_long(self, reply: Reply) -> None:
        with serve(always(reply)) as server:
            error = failing(server.connection(), Request(path=PATH, timeout=0.4))
        assert (error.code, error.transient) == ("kube/timeout", True)

    def test_a_port_that_speaks_no_tls(self, plain_port: int) -> None:
        error = failing(Connection(server=f"https://127.0.0.1:{plain_port}"))
        assert (error.code, error.transient) == ("kube/tls-failed", True)

    def test_a_proxy_that_is_gone_is_named_as_the_culprit_without_its_password(self) -> None:
        proxy = Secret(f"http://user:hunter2@127.0.0.1:{closed_port()}")
        error = failing(Connection(server="https://10.0.0.1", proxy=proxy))
        assert (error.code, error.transient) == ("kube/proxy", True)
        assert "hunter2" not in error.message

    @pytest.mark.parametrize(
        "server",
        ["http://10.0.0.1", "https://", "10.0.0.1:6443", "https://u:p@h", "https://h:port", "https://h?x"],
    )
    def test_what_is_not_an_api_server_s_address_is_refused(self, server: str) -> None:
        with pytest.raises(KubeError) as caught:
            KubeClient(Connection(server=server), SystemClock())
        assert (caught.value.code, caught.value.transient) == ("kube/bad-server", False)

    @pytest.mark.parametrize(
        "server", ["https://u:hunter2@h", "https://u:hunter2@h:port", "https://u:hunter2/@h"]
    )
    def test_a_password_in_an_address_is_not_quoted(self, server: str) -> None:
        with pytest.raises(KubeError) as caught:
            KubeClient(Connection(server=server), SystemClock())
        assert "hunter2" not in f"{caught.value.record()} {caught.value.__cause__}"


class TestClock:
    def test_the_distance_to_the_server_s_clock_is_known_after_any_answer(self) -> None:
        clock = FakeClock()  # the first of January 2026
        reply = as_json({}, headers={"Date": "Thu, 01 Jan 2026 01:00:00 GMT"})
        with serve(always(reply)) as server, opened(server, clock) as client:
            assert client.clock_offset is None
            client.send(Request(path=PATH))
            assert client.clock_offset == timedelta(hours=-1)


def test_a_watch_tells_line_by_line() -> None:
    body = b'{"type":"ADDED"}\n{"type":"MODIFIED"}\n\n{"type":"DELETED"}'
    with (
        serve(always(Reply(body=body))) as server,
        opened(server) as client,
        client.stream(Request(path=PATH)) as lines,
    ):
        assert [json.loads(line)["type"] for line in lines] == ["ADDED", "MODIFIED", "DELETED"]


@pytest.fixture
def plain_port() -> Iterator[int]:
    """A port that answers TLS with HTTP."""

    def work() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=work)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(5)


def write_pair(authority: CertificateAuthority, folder: Path, name: str) -> Path:
    """A certificate and its key in one file, as kubelet keeps them."""
    pair = authority.issue(Identity(common_name=name))
    path = folder / f"{name}.pem"
    path.write_bytes(pair.certificate + pair.key.reveal().encode())
    return path


def link(path: Path, target: Path) -> None:
    draft = path.with_suffix(".new")
    draft.symlink_to(target)
    os.replace(draft, path)


def replace(path: Path, text: str) -> None:
    draft = path.with_suffix(".new")
    draft.write_text(text)
    os.replace(draft, path)
