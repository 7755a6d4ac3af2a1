"""The fault matrix, rows 10 to 17, 24 and 25, where it concerns the API server: real sockets, real TLS."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from faults.raw_server import answering, closed_port
from flexlab.pki import create_authority
from flexnode.clock import FakeClock, SystemClock
from flexnode.errors import KubeError
from flexnode.kube import Connection, KubeClient
from flexnode.kube.nodes import find_node, require_node
from flexnode.kube.pods import Eviction, Pod, evict
from flexnode.retry import RETRY_AFTER_CAP, retry
from flexnode.secret import Secret
from unit.kube import samples
from unit.kube.api_server import ApiServer, Reply, Seen, always, as_json, refusal, serve

TOKEN = Secret("abcdef.0123456789abcdef")
POD = Pod(namespace="default", name="web-1", uid="uid-web-1")


def failing(connection: Connection) -> KubeError:
    with KubeClient(connection, SystemClock()) as client, pytest.raises(KubeError) as caught:
        require_node(client, "edge1")
    assert caught.value.hint
    return caught.value


@contextmanager
def scripted(*replies: Reply) -> Iterator[tuple[ApiServer, KubeClient]]:
    """A server that answers with one reply after the other, and stays at the last."""

    def answer(_seen: Seen) -> Reply:
        return replies[min(len(server.seen), len(replies)) - 1]

    with serve(answer) as server, KubeClient(server.connection(credential=TOKEN), SystemClock()) as client:
        yield server, client


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [("3", 3, 3), ("Fri, 01 Jan 2100 00:00:00 GMT", 1e6, 1e11), ("100000", 1e5, 1e5)],
)
def test_row_10_a_server_that_asks_for_patience_gets_it_within_reason(
    value: str, least: float, most: float
) -> None:
    throttled = refusal(429, headers={"Retry-After": value})
    clock = FakeClock()
    with scripted(throttled, as_json(samples.node())) as (_, client):
        node = retry(lambda: require_node(client, "edge1"), delays=(1,), clock=clock, jitter=0)
    assert node.is_ready
    assert clock.slept == [min(max(1.0, least), RETRY_AFTER_CAP)]
    with serve(always(throttled)) as server:
        pause = failing(server.connection()).retry_after
    assert pause is not None
    assert least <= pause <= most


@pytest.mark.parametrize("status", [200, 302, 401, 403, 404])
def test_row_11_a_login_page_is_terminal_and_named_whatever_its_status(status: int) -> None:
    page = Reply(status=status, body=b"<!DOCTYPE html><title>Sign in</title>", headers={"Location": "/login"})
    with serve(always(page)) as server:
        error = failing(server.connection())
    assert (error.code, error.transient) == ("kube/bad-response", False)
    assert "sign in" in error.hint


def test_row_12_a_certificate_of_another_ca_is_terminal_and_gets_no_token() -> None:
    with serve(always(as_json(samples.node()))) as server:
        stranger = create_authority("stranger").certificate.decode()
        error = failing(server.connection(ca=stranger, credential=TOKEN))
    assert (error.code, error.transient) == ("kube/tls-untrusted", False)
    assert server.seen == []


def test_row_13_a_name_that_cannot_be_looked_up_is_transient() -> None:
    error = failing(Connection(server="https://api.invalid:6443"))
    assert (error.code, error.transient) == ("kube/dns", True)
    assert "api.invalid" in error.message


def test_row_14_a_proxy_that_is_down_is_transient_and_one_that_wants_a_password_terminal() -> None:
    connection = Connection(server="https://10.0.0.1:6443", credential=TOKEN)
    down = replace(connection, proxy=Secret(f"http://u:hunter2@127.0.0.1:{closed_port()}"))
    error = failing(down)
    assert (error.code, error.transient) == ("kube/proxy", True)
    with answering(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n") as proxy:
        error = failing(replace(connection, proxy=Secret(proxy.url)))
        assert (error.code, error.transient) == ("kube/proxy-auth", False)
        assert not any(TOKEN.reveal() in head for head in proxy.heads)
    with answering(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n") as proxy:
        error = failing(replace(connection, proxy=Secret(proxy.url)))
        assert (error.code, error.transient) == ("kube/proxy", True)


def test_row_16_an_api_server_that_starts_is_waited_for() -> None:
    """First it hangs up, then it says that it is not ready, then it answers."""
    clock = FakeClock()
    replies = (Reply(reset=True), Reply(cut=True), refusal(503), refusal(500), as_json(samples.node()))
    heard: list[str] = []
    with scripted(*replies) as (_, client):
        node = retry(
            lambda: find_node(client, "edge1"),
            delays=(1, 2, 4, 8),
            clock=clock,
            on_retry=lambda error, _pause: heard.append(error.code),
        )
    assert node is not None
    assert heard == ["kube/connection-lost"] * 2 + ["kube/server-error"] * 2


def test_row_16_an_api_server_that_stays_away_is_transient_to_the_end() -> None:
    error = failing(Connection(server=f"https://127.0.0.1:{closed_port()}"))
    assert (error.code, error.transient) == ("kube/unreachable", True)


def test_row_17_a_token_that_is_wrong_or_expired_is_terminal_and_tried_once() -> None:
    with scripted(refusal(401, "Unauthorized")) as (server, client), pytest.raises(KubeError) as caught:
        retry(lambda: require_node(client, "edge1"), delays=(1, 2), clock=FakeClock())
    assert (caught.value.code, caught.value.transient) == ("kube/unauthorized", False)
    assert "cluster token" in caught.value.hint
    assert len(server.seen) == 1


def test_row_24_an_api_server_that_goes_in_the_middle_of_a_drain_is_asked_again_for_the_same_pod() -> None:
    accepted = as_json({"kind": "Status", "status": "Success"}, 201)
    with scripted(Reply(cut=True), Reply(reset=True), refusal(503), accepted) as (server, client):
        results = [evict(client, POD).result for _ in range(4)]
    assert results == [Eviction.LATER, Eviction.LATER, Eviction.LATER, Eviction.ACCEPTED]
    assert {seen.document["deleteOptions"]["preconditions"]["uid"] for seen in server.seen} == {POD.uid}


def test_row_25_a_budget_that_allows_no_eviction_is_told_from_throttling_and_named() -> None:
    words = "The disruption budget web needs 2 healthy pods and has 2 currently"
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    budget = as_json(
        {
            "kind": "Status",
            "message": message,
            "reason": "TooManyRequests",
            "details": {"causes": [{"reason": "DisruptionBudget", "message": words}]},
        },
        429,
    )
    with scripted(budget, refusal(429, "slow down", headers={"Retry-After": "9"})) as (_, client):
        blocked, throttled = evict(client, POD), evict(client, POD)
    assert blocked.result is Eviction.BLOCKED
    assert words in blocked.message
    assert throttled.result is Eviction.LATER
    assert throttled.retry_after == 9
