"""Long lists arrive whole, and a watch tells what happened after one."""

from __future__ import annotations

from typing import Any

import pytest

from flexnode.clock import SystemClock
from flexnode.errors import KubeError
from flexnode.kube import KubeClient
from flexnode.kube.fake import FakeCluster
from flexnode.kube.nodes import NODES, list_nodes
from flexnode.kube.watch import Happened, watch
from unit.kube import samples
from unit.kube.api_server import Reply, Seen, always, as_json, refusal, serve


def page(names: list[str], go_on: str = "") -> Reply:
    metadata = {"resourceVersion": "7", "continue": go_on}
    return as_json({"metadata": metadata, "items": [samples.node(name) for name in names]})


def test_a_list_of_several_pages_is_read_to_its_end() -> None:
    def answer(seen: Seen) -> Reply:
        return page(["c"]) if "continue=next" in seen.path else page(["a", "b"], "next")

    with serve(answer) as server, KubeClient(server.connection(), SystemClock()) as client:
        assert [node.name for node in list_nodes(client)] == ["a", "b", "c"]


def test_a_list_that_grew_too_old_is_begun_again_and_holds_nothing_twice() -> None:
    def answer(_seen: Seen) -> Reply:
        replies = [page(["a"], "next"), refusal(410, reason="Expired"), page(["a"], "next"), page(["b"])]
        return replies[len(server.seen) - 1]

    with serve(answer) as server, KubeClient(server.connection(), SystemClock()) as client:
        assert [node.name for node in list_nodes(client)] == ["a", "b"]


def test_a_list_that_never_stays_still_is_given_up() -> None:
    with (
        serve(always(refusal(410, reason="Expired"))) as server,
        KubeClient(server.connection(), SystemClock()) as client,
        pytest.raises(KubeError) as caught,
    ):
        list_nodes(client)
    assert (caught.value.code, caught.value.transient) == ("kube/expired", True)
    assert len(server.seen) == 3


def test_an_empty_list_may_be_null() -> None:
    with (
        serve(always(as_json({"metadata": {}, "items": None}))) as server,
        KubeClient(server.connection(), SystemClock()) as client,
    ):
        assert list_nodes(client) == ()


class TestWatch:
    def events(self, *told: dict[str, Any]) -> list[tuple[Happened, dict[str, Any]]]:
        cluster = FakeCluster()
        cluster.watched = list(told)
        found = list(watch(cluster, NODES, dict[str, Any], since="7", seconds=5))
        (request,) = cluster.requests
        query = dict(request.query)
        assert (query["watch"], query["resourceVersion"], query["timeoutSeconds"]) == ("true", "7", "5")
        return found

    def test_changes_are_told_and_bookmarks_are_not(self) -> None:
        found = self.events(
            {"type": "ADDED", "object": {"a": 1}},
            {"type": "BOOKMARK", "object": {}},
            {"type": "DELETED", "object": {"a": 1}},
        )
        assert found == [(Happened.ADDED, {"a": 1}), (Happened.DELETED, {"a": 1})]

    def test_a_version_that_the_server_forgot_is_transient(self) -> None:
        with pytest.raises(KubeError) as caught:
            self.events({"type": "ERROR", "object": {"kind": "Status", "code": 410}})
        assert (caught.value.code, caught.value.transient) == ("kube/expired", True)

    def test_what_is_no_event_is_a_failure(self) -> None:
        with pytest.raises(KubeError) as caught:
            self.events({"type": "SURPRISE", "object": {}})
        assert caught.value.code == "kube/bad-response"
