"""A request to the API as data, and the seam through which it is asked.

Whoever speaks Kubernetes builds a `Request` and reads the answer; only `client.py` moves bytes. A fake that
answers from memory is therefore as good as a server for all that is decided above this line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol
from urllib.parse import quote

import msgspec

from flexnode.errors import UsageError

TIMEOUT = 30.0
"""Seconds that one call may take from its first byte to its last, unless it says otherwise."""


class Content(StrEnum):
    """What a body is; for a PATCH this also says how it is merged."""

    JSON = "application/json"
    MERGE = "application/merge-patch+json"  # lists are replaced, null deletes
    STRATEGIC = "application/strategic-merge-patch+json"  # lists of known kinds merge by their key
    APPLY = "application/apply-patch+yaml"  # server-side apply; JSON is YAML


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One call. `path` is already quoted: make it with `object_path`."""

    path: str
    method: str = "GET"
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    content: Content = Content.JSON
    timeout: float = TIMEOUT

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Api(Protocol):
    """Something that answers requests. Every failure is a KubeError."""

    def send(self, request: Request) -> bytes:
        """The whole answer to `request`."""
        ...

    def stream(self, request: Request) -> AbstractContextManager[Iterator[bytes]]:
        """The lines of an answer as they arrive, until the server ends it."""
        ...


def object_path(base: str, *names: str) -> str:
    """`base` with names behind it, each one segment of the path whatever characters it holds."""
    for name in names:
        if name in ("", ".", ".."):
            raise UsageError(
                f"{name!r} is not the name of an object",
                code="kube/bad-name",
                hint="write the name as `kubectl get` shows it",
            )
    return "/".join((base, *(quote(name, safe="") for name in names)))


def with_body(
    method: str,
    path: str,
    document: Mapping[str, Any],
    *,
    content: Content = Content.JSON,
    query: tuple[tuple[str, str], ...] = (),
) -> Request:
    """A request that carries `document`."""
    return Request(method=method, path=path, query=query, body=msgspec.json.encode(document), content=content)
