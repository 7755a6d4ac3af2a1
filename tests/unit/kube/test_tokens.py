"""Bootstrap tokens: good for as long as was said, and never shown whole again."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnode.clock import FakeClock
from flexnode.errors import FlexError, KubeError
from flexnode.kube.fake import FakeCluster
from flexnode.kube.request import Request
from flexnode.kube.tokens import (
    BOOTSTRAP_GROUP,
    SECRETS,
    create_token,
    delete_token,
    draw_token,
    list_tokens,
    split_token,
)
from flexnode.secret import Secret

FORM = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}")


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


def stored(cluster: FakeCluster, identifier: str) -> dict[str, str]:
    found = cluster.get(f"{SECRETS}/bootstrap-token-{identifier}")
    assert found is not None
    assert found["type"] == "bootstrap.kubernetes.io/token"
    return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}


def test_a_new_token_is_valid_for_joining_and_for_proving_the_ca(cluster: FakeCluster) -> None:
    made = create_token(cluster, clock=FakeClock(), ttl=timedelta(hours=24), description="rack 7")
    identifier, key = split_token(made.token)
    assert FORM.fullmatch(made.token.reveal())
    assert stored(cluster, identifier) == {
        "token-id": identifier,
        "token-secret": key.reveal(),
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": BOOTSTRAP_GROUP,
        "description": "rack 7",
        "expiration": "2026-01-02T00:00:00Z",
    }
    assert made.info.expires == datetime(2026, 1, 2, tzinfo=UTC)


def test_the_group_is_one_that_the_cluster_accepts() -> None:
    assert re.fullmatch(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]", BOOTSTRAP_GROUP)


def test_a_token_for_ever_has_no_end(cluster: FakeCluster) -> None:
    made = create_token(cluster, clock=FakeClock(), ttl=None)
    assert "expiration" not in stored(cluster, made.info.identifier)
    assert list_tokens(cluster)[0].expires is None


def test_no_two_tokens_are_alike() -> None:
    assert len({draw_token().reveal() for _ in range(200)}) == 200


def test_a_new_token_does_not_show_itself(cluster: FakeCluster) -> None:
    made = create_token(cluster, clock=FakeClock(), ttl=None)
    assert made.token.reveal() not in f"{made} {made!r}"


def test_an_identifier_that_is_taken_is_not_overwritten(cluster: FakeCluster) -> None:
    refused = 0

    def before(request: Request) -> None:
        nonlocal refused
        if request.method == "POST" and refused < 2:
            refused += 1
            raise cluster.refuse(409, "exists", reason="AlreadyExists")

    cluster.before = before
    made = create_token(cluster, clock=FakeClock(), ttl=None)
    assert refused == 2
    assert stored(cluster, made.info.identifier)


def test_a_cluster_that_takes_none_is_not_asked_for_ever(cluster: FakeCluster) -> None:
    def before(_request: Request) -> None:
        raise cluster.refuse(409, "exists", reason="AlreadyExists")

    cluster.before = before
    with pytest.raises(KubeError) as caught:
        create_token(cluster, clock=FakeClock(), ttl=None)
    assert caught.value.code == "kube/already-exists"


def test_a_list_shows_the_next_to_expire_first_and_no_secret(cluster: FakeCluster) -> None:
    made = [
        create_token(cluster, clock=FakeClock(), ttl=ttl)
        for ttl in (None, timedelta(hours=2), timedelta(hours=1))
    ]
    cluster.put(f"{SECRETS}/other", {"type": "Opaque", "data": {}})
    listed = list_tokens(cluster)
    assert [token.identifier for token in listed] == [each.info.identifier for each in reversed(made)]
    assert not any(each.token.reveal().partition(".")[2] in str(listed) for each in made)


@pytest.mark.parametrize("data", [None, {}, {"expiration": "bm90IGEgZGF0ZQ==", "token-id": "%%%"}])
def test_a_secret_of_somebody_else_s_making_is_listed_as_far_as_it_can_be_read(
    cluster: FakeCluster, data: Any
) -> None:
    cluster.put(f"{SECRETS}/bootstrap-token-zzzzzz", {"type": "bootstrap.kubernetes.io/token", "data": data})
    (token,) = list_tokens(cluster)
    assert (token.identifier, token.expires, token.groups) == ("zzzzzz", None, ())


def test_a_token_is_deleted_by_its_public_half_or_whole(cluster: FakeCluster) -> None:
    one, two = (create_token(cluster, clock=FakeClock(), ttl=None) for _ in range(2))
    delete_token(cluster, one.info.identifier)
    delete_token(cluster, two.token.reveal())
    assert list_tokens(cluster) == ()
    # The secret half has no business in a path, which servers log.
    assert not any(two.token.reveal().partition(".")[2] in request.path for request in cluster.requests)


@pytest.mark.parametrize("text", ["", "abc", "../../x", "abcdefg", "ABCDEF"])
def test_what_is_no_identifier_is_refused(cluster: FakeCluster, text: str) -> None:
    with pytest.raises(FlexError) as caught:
        delete_token(cluster, text)
    assert caught.value.code == "kube/bad-token"


@settings(deadline=None)
@given(st.text(max_size=30))
def test_what_is_no_token_is_refused_and_never_quoted(text: str) -> None:
    if FORM.fullmatch(text.strip()):
        return
    with pytest.raises(FlexError) as caught:
        split_token(Secret(text))
    assert caught.value.code == "kube/bad-token"
    if len(text.strip()) > 12:
        assert text not in str(caught.value.record())
