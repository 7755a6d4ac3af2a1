"""A cluster in memory, for tests of everything above this door.

It answers what an API server answers to the calls that the product makes: get, list with selectors, create,
the three kinds of patch, update, delete, eviction with budgets, approval. `before` sees each request first
and may raise; `requests` keeps them all.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import msgspec

from flexnode.clock import Clock, FakeClock
from flexnode.errors import KubeError
from flexnode.kube.connection import Connection
from flexnode.kube.discovery import SELF_REVIEWS
from flexnode.kube.request import Content, Request
from flexnode.kube.translate import Asked, translate_status

Object = dict[str, Any]

_PATH = re.compile(
    r"(?P<base>/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+)(?=/))?"
    r"/(?P<kind>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<part>[^/]+))?"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """Where in the API a request goes."""

    base: str
    namespace: str
    kind: str
    name: str
    part: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.base, self.namespace, self.kind, self.name


@dataclass
class FakeCluster:
    """An `Api`. `budgets` names a pod's budget by `NAMESPACE/NAME` for as long as it forbids evicting it."""

    clock: Clock = field(default_factory=FakeClock)
    version: str = "v1.29.3"
    before: Callable[[Request], None] = lambda _request: None
    budgets: dict[str, str] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    user: Object = field(default_factory=lambda: {"username": "fake", "groups": ["system:authenticated"]})
    """As whom it knows whoever asks."""

    watched: list[Object] = field(default_factory=list)
    """What the next watch tells: `{"type": "ADDED", "object": …}`."""

    _objects: dict[tuple[str, str, str, str], Object] = field(default_factory=dict)
    _count: int = 0

    def put(self, path: str, document: Mapping[str, Any]) -> Object:
        """Lay an object into the cluster at `path` (that of the object, not of its collection)."""
        place = _parse_path(path)
        stored = copy.deepcopy(dict(document))
        metadata = stored.setdefault("metadata", {})
        metadata.setdefault("name", place.name)
        if place.namespace:
            metadata.setdefault("namespace", place.namespace)
        metadata.setdefault("uid", f"uid-{place.namespace}-{place.name}")
        self._count += 1
        metadata["resourceVersion"] = str(self._count)
        self._objects[place.key] = stored
        return stored

    def get(self, path: str) -> Object | None:
        """The object at `path`, as it is now."""
        return copy.deepcopy(self._objects.get(_parse_path(path).key))

    def remove(self, path: str) -> None:
        self._objects.pop(_parse_path(path).key, None)

    def send(self, request: Request) -> bytes:
        self.requests.append(request)
        self.before(request)
        if request.path == "/version":
            return msgspec.json.encode({"gitVersion": self.version})
        if request.path in ("/readyz", "/livez", "/healthz"):
            return b"ok"
        if request.path == SELF_REVIEWS:
            return msgspec.json.encode({"status": {"userInfo": self.user}})
        return msgspec.json.encode(self._answer(request, _parse_path(request.path)))

    @contextmanager
    def stream(self, request: Request) -> Iterator[Iterator[bytes]]:
        self.requests.append(request)
        self.before(request)
        told, self.watched = self.watched, []
        yield iter([msgspec.json.encode(event) for event in told])

    def refuse(self, code: int, message: str, *, reason: str = "", cause: str = "") -> KubeError:
        """The failure that an API server's answer of that status becomes; for `before` to raise."""
        details = {"causes": [{"reason": cause, "message": message}]} if cause else None
        body = {"kind": "Status", "message": message, "reason": reason, "details": details}
        asked = Asked(connection=Connection(server="https://fake"), clock=self.clock, what="fake request")
        return translate_status(code, {}, msgspec.json.encode(body), asked)

    def _answer(self, request: Request, place: _Place) -> Any:
        body = msgspec.json.decode(request.body) if request.body else {}
        if place.part == "eviction":
            return self._evict(place, body)
        match request.method:
            case "GET" if not place.name:
                return self._list(place, dict(request.query))
            case "GET":
                return self._require(place)
            case "POST":
                return self._create(place, body)
            case "PUT":
                return self._replace(place, body)
            case "PATCH":
                return self._patch(place, body, request.content)
            case "DELETE":
                return self._delete(place, body)
        raise self.refuse(405, f"{request.method} is not a method")

    def _require(self, place: _Place) -> Object:
        if place.key not in self._objects:
            raise self.refuse(404, f'{place.kind} "{place.name}" not found', reason="NotFound")
        return self._objects[place.key]

    def _list(self, place: _Place, query: Mapping[str, str]) -> Object:
        items = [
            found
            for (base, namespace, kind, _), found in sorted(self._objects.items())
            if (base, kind) == (place.base, place.kind) and place.namespace in ("", namespace)
        ]
        for selector in filter(None, query.get("fieldSelector", "").split(",")):
            path, _, value = selector.partition("=")
            items = [item for item in items if str(_dig(item, path) or "") == value]
        for selector in filter(None, query.get("labelSelector", "").split(",")):
            key, _, value = selector.partition("=")
            items = [item for item in items if (_dig(item, "metadata.labels") or {}).get(key) == value]
        return {"metadata": {"resourceVersion": str(self._count)}, "items": items}

    def _create(self, place: _Place, body: Object) -> Object:
        name = body["metadata"]["name"]
        key = (place.base, place.namespace, place.kind, name)
        if key in self._objects:
            raise self.refuse(409, f'{place.kind} "{name}" already exists', reason="AlreadyExists")
        return self._store(key, body)

    def _replace(self, place: _Place, body: Object) -> Object:
        before = self._require(place)
        said = body.get("metadata", {}).get("resourceVersion")
        if said not in (None, "", before["metadata"]["resourceVersion"]):
            raise self.refuse(409, "the object has been modified", reason="Conflict")
        return self._store(place.key, body)

    def _patch(self, place: _Place, body: Object, content: Content) -> Object:
        before = self._objects.get(place.key)
        if before is None and content is not Content.APPLY:
            before = self._require(place)
        after = _merge(before or {}, body, strategic=content is Content.STRATEGIC)
        return before if before == after and before else self._store(place.key, after)

    def _delete(self, place: _Place, body: Object) -> Object:
        found = self._require(place)
        uid = (body.get("preconditions") or {}).get("uid")
        if uid not in (None, found["metadata"]["uid"]):
            raise self.refuse(409, "the UID in the precondition is another one", reason="Conflict")
        del self._objects[place.key]
        return {"kind": "Status", "status": "Success"}

    def _evict(self, place: _Place, body: Object) -> Object:
        found = self._require(place)
        uid = ((body.get("deleteOptions") or {}).get("preconditions") or {}).get("uid")
        if uid not in (None, found["metadata"]["uid"]):
            raise self.refuse(409, "the UID in the precondition is another one", reason="Conflict")
        if budget := self.budgets.get(f"{place.namespace}/{place.name}"):
            words = f"The disruption budget {budget} needs 1 healthy pods and has 1 currently"
            raise self.refuse(429, words, reason="TooManyRequests", cause="DisruptionBudget")
        del self._objects[place.key]
        return {"kind": "Status", "status": "Success"}

    def _store(self, key: tuple[str, str, str, str], document: Object) -> Object:
        base, namespace, kind, name = key
        path = f"{base}/namespaces/{namespace}/{kind}/{name}" if namespace else f"{base}/{kind}/{name}"
        if "stringData" in document:
            document = _encode_secret(document)
        return self.put(path, document)


def _parse_path(path: str) -> _Place:
    found = _PATH.fullmatch(path)
    if found is None:
        raise AssertionError(f"{path} is not a path that this fake knows")
    return _Place(**{key: unquote(value or "") for key, value in found.groupdict().items()})


def _dig(document: Any, path: str) -> Any:
    for key in path.split("."):
        document = document.get(key) if isinstance(document, dict) else None
    return document


def _merge(before: Any, change: Any, *, strategic: bool) -> Any:
    """A merge patch; `strategic` merges lists of objects by their `type`, as a Node's conditions are."""
    if strategic and isinstance(before, list) and isinstance(change, list):
        kept = {entry["type"]: entry for entry in before}
        for entry in change:
            kept[entry["type"]] = {**kept.get(entry["type"], {}), **entry}
        return list(kept.values())
    if not isinstance(change, dict):
        return change
    merged = dict(before) if isinstance(before, dict) else {}
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value, strategic=strategic)
    return merged


def _encode_secret(document: Object) -> Object:
    from base64 import b64encode

    plain = document["stringData"]
    data = {key: b64encode(value.encode()).decode() for key, value in plain.items()}
    rest = {key: value for key, value in document.items() if key != "stringData"}
    return {**rest, "data": {**document.get("data", {}), **data}}
