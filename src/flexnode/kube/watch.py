"""Watching a list for a while, so that a change is seen when it happens and not at the next look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TypeVar

import msgspec

from flexnode.kube.failures import Code, failure
from flexnode.kube.objects import decode
from flexnode.kube.request import Api, Request

T = TypeVar("T")

SLACK = 10.0
"""How much longer than asked the server may take to end a watch, in seconds."""


class Happened(StrEnum):
    """What became of an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class _Event(msgspec.Struct, frozen=True):
    type: Happened
    object: msgspec.Raw


def watch(
    api: Api,
    path: str,
    kind: type[T],
    *,
    since: str,
    seconds: float,
    query: Mapping[str, str] | None = None,
) -> Iterator[tuple[Happened, T]]:
    """Changes after version `since` of a list, for at most `seconds`; then the iteration ends.

    A version that the server no longer remembers is `kube/expired`: list again.
    """
    words = {
        **(query or {}),
        "watch": "true",
        "resourceVersion": since,
        "timeoutSeconds": str(max(1, round(seconds))),
    }
    request = Request(path=path, query=tuple(words.items()), timeout=seconds + SLACK)
    with api.stream(request) as lines:
        for line in lines:
            event = decode(line, _Event, request)
            if event.type is Happened.ERROR:
                raise failure(Code.EXPIRED, "the watched list has moved on too far")
            if event.type is not Happened.BOOKMARK:
                yield event.type, decode(bytes(event.object), kind, request)
