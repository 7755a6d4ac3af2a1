"""What all objects of the API have in common, and how answers become values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Generic, TypeVar

import msgspec

from flexnode.errors import KubeError
from flexnode.kube.failures import Code, failure
from flexnode.kube.request import Api, Request

T = TypeVar("T")

PAGE = 500
RESTARTS = 3
"""How often a list that grew too old between two pages is begun again."""


class OwnerReference(msgspec.Struct, frozen=True, rename="camel"):
    """Whose part an object is."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    """An object's metadata, as far as the product reads it. The server may send null for what is empty."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class Cursor(msgspec.Struct, frozen=True, rename="camel"):
    """A list's metadata: as of when it is, and where it goes on."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Listing(msgspec.Struct, Generic[T], frozen=True):
    """A list, or a page of one."""

    metadata: Cursor = Cursor()
    items: tuple[T, ...] | None = None


def decode(body: bytes, kind: type[T], request: Request) -> T:
    """The value in an answer; an answer of another shape is a failure, not a crash."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise failure(
            Code.BAD_RESPONSE, f"the answer to {request} is not what the API answers: {error}"
        ) from error


def ask(api: Api, request: Request, kind: type[T]) -> T:
    """Send `request` and decode its answer."""
    return decode(api.send(request), kind, request)


def find(api: Api, request: Request, kind: type[T]) -> T | None:
    """Like `ask`, but None where there is no such object."""
    try:
        return ask(api, request, kind)
    except KubeError as error:
        if error.code == Code.NOT_FOUND:
            return None
        raise


def list_all(
    api: Api, path: str, kind: type[Listing[T]], query: Mapping[str, str] | None = None
) -> tuple[tuple[T, ...], str]:
    """Every item of a list, page by page, and the version of the cluster's state that it shows."""
    for attempt in range(RESTARTS):
        items: list[T] = []
        cursor = Cursor()
        try:
            while True:
                words = {**(query or {}), "limit": str(PAGE)}
                if cursor.continue_:
                    words["continue"] = cursor.continue_
                page = ask(api, Request(path=path, query=tuple(words.items())), kind)
                items += page.items or ()
                cursor = page.metadata
                if not cursor.continue_:
                    return tuple(items), cursor.resource_version
        except KubeError as error:
            if error.code != Code.EXPIRED or attempt == RESTARTS - 1:
                raise
    raise AssertionError("unreachable")
