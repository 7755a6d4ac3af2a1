"""A cluster is asked once for what several checks want to know, and a refusal keeps its meaning."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from flexnode.clock import FakeClock
from flexnode.errors import KubeError
from flexnode.flows.preflight.ask_cluster import AskCluster
from flexnode.flows.preflight.situation import Reached, RemoteNode
from flexnode.kube import Code, Request
from unit.flows.preflight.samples import UUID, refused

Answers = Mapping[str, Any]

CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"

NODE = {"metadata": {"name": "node-1"}, "status": {"nodeInfo": {"systemUUID": UUID}}}
CILIUM = {"data": {"kube-proxy-replacement": "true"}}
SYSTEM = "/api/v1/namespaces/kube-system"


class FakeClient:
    """Answers by path; what it has no answer for does not exist."""

    def __init__(self, answers: Answers) -> None:
        self.answers = {CSRS: {"metadata": {}, "items": []}, **answers}
        self.asked: list[str] = []
        self.closed = False
        self.clock_offset = timedelta(seconds=3)

    def send(self, request: Request) -> bytes:
        self.asked.append(request.path)
        answer = self.answers.get(request.path, refused(Code.NOT_FOUND))
        if isinstance(answer, KubeError):
            raise answer
        return json.dumps(answer).encode()

    def close(self) -> None:
        self.closed = True


def ask(**answers: Any) -> AskCluster:
    return AskCluster(lambda: FakeClient(answers), FakeClock())  # type: ignore[arg-type,return-value]


def test_an_answer_with_the_clocks_difference() -> None:
    assert ask(**{"/readyz": "ok"}).reach() == Reached(ready=True, clock_offset=timedelta(seconds=3))


@pytest.mark.parametrize(
    ("code", "ready"), [(Code.UNAUTHORIZED, True), (Code.FORBIDDEN, True), (Code.SERVER_ERROR, False)]
)
def test_a_refusal_is_an_answer_too(code: Code, ready: bool) -> None:
    assert ask(**{"/readyz": refused(code)}).reach().ready is ready


@pytest.mark.parametrize("code", [Code.UNREACHABLE, Code.TLS_UNTRUSTED, Code.BAD_RESPONSE])
def test_nobody_or_somebody_else_is_none(code: Code) -> None:
    with pytest.raises(KubeError) as caught:
        ask(**{"/readyz": refused(code)}).reach()
    assert caught.value.code == code


def test_a_token_is_tried_by_asking_who_we_are() -> None:
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    ask(**{path: {"status": {"userInfo": {"username": "system:bootstrap:abcdef"}}}}).authenticate()
    with pytest.raises(KubeError):
        ask(**{path: refused(Code.UNAUTHORIZED)}).authenticate()


def test_a_cluster_that_does_not_know_the_question_has_let_us_in() -> None:
    ask().authenticate()


def test_version_and_node() -> None:
    cluster = ask(**{"/version": {"gitVersion": "v1.35.2+x"}, "/api/v1/nodes/node-1": NODE})
    assert cluster.version() == "v1.35.2+x"
    assert cluster.find_node("node-1") == RemoteNode(name="node-1", system_uuid=UUID)
    assert cluster.find_node("node-2") is None


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ({f"{SYSTEM}/configmaps/cilium-config": CILIUM}, True),
        ({"/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy": {}}, True),
        ({}, False),
        ({"/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy": refused(Code.FORBIDDEN)}, None),
    ],
)
def test_what_makes_services_work(answers: Answers, found: bool | None) -> None:
    assert ask(**answers).has_kube_proxy() is found


def test_a_cluster_without_any_request_does_not_tell_whether_somebody_approves() -> None:
    assert ask().serving_approval().found is None


def test_facts_are_asked_for_once_for_all_checks() -> None:
    client = FakeClient({})
    cluster = AskCluster(lambda: client, FakeClock())  # type: ignore[arg-type,return-value]
    threads = [threading.Thread(target=cluster.facts) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(client.asked) == len(set(client.asked))


def test_each_question_is_asked_once_and_a_refusal_is_an_answer_to_it() -> None:
    """Three checks want to know whether the server is ready, and whoever waits for it waits once."""
    client = FakeClient({"/readyz": refused(Code.UNREACHABLE), "/version": {"gitVersion": "v1.35.2"}})
    cluster = AskCluster(lambda: client, FakeClock())  # type: ignore[arg-type,return-value]
    for _ in range(3):
        with pytest.raises(KubeError) as caught:
            cluster.reach()
        assert caught.value.code == Code.UNREACHABLE
        assert cluster.version() == "v1.35.2"
    assert client.asked == ["/readyz", "/version"]


def test_a_connection_that_fails_is_tried_once_and_told_to_everybody() -> None:
    """Six checks at once would otherwise ask a stranger six times for the cluster's CA."""
    tried: list[int] = []

    def connect() -> Any:
        tried.append(1)
        raise refused(Code.CA_UNVERIFIED)

    cluster = AskCluster(connect, FakeClock())
    for question in (cluster.reach, cluster.authenticate, cluster.version):
        with pytest.raises(KubeError) as caught:
            question()
        assert caught.value.code == Code.CA_UNVERIFIED
    assert tried == [1]


def test_the_connection_is_closed_and_one_that_was_never_opened_is_not() -> None:
    client = FakeClient({"/readyz": "ok"})
    with AskCluster(lambda: client, FakeClock()) as cluster:  # type: ignore[arg-type,return-value]
        cluster.reach()
    assert client.closed
    with AskCluster(lambda: pytest.fail("nobody asked"), FakeClock()):
        pass
