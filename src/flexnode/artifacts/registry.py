"""A container registry as a source: files are blobs, found by their digest."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx

from flexnode.artifacts.failures import Code, failure, malformed_source
from flexnode.artifacts.http import HttpDoor
from flexnode.artifacts.settings import Login
from flexnode.artifacts.stream import Offer, Stream
from flexnode.artifacts.translate import translate_status
from flexnode.errors import ArtifactError
from flexnode.model import Artifact
from flexnode.secret import Secret

_REPOSITORY = re.compile(r"[a-z0-9]+(?:[._/-][a-z0-9_-]+)*")
_PARAMETER = re.compile(r'(\w+)="([^"]*)"')


@dataclass(slots=True)
class _Token:
    """What the registry's token service gave us last; shared by the downloads of one source."""

    value: Secret | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, kw_only=True, slots=True)
class Registry:
    """The blobs of one repository. Gets a token where the registry demands one, anonymously unless told."""

    base: str  # scheme://host[:port]
    repository: str
    door: HttpDoor
    login: Login | None = None
    _token: _Token = field(default_factory=_Token, repr=False, compare=False)

    @classmethod
    def parse(cls, text: str, door: HttpDoor, login: Login | None) -> Registry:
        """The registry behind `oci://host[:port]/repository`. The machine itself is spoken to without TLS."""
        parts = urlsplit(text)
        repository = parts.path.strip("/")
        if not _REPOSITORY.fullmatch(repository):
            raise malformed_source(
                f"{text!r} names no repository",
                hint="a registry source is oci://HOST[:PORT]/REPOSITORY",
            )
        plain = parts.scheme == "oci+http" or _is_loopback(parts.hostname or "")
        base = f"{'http' if plain else 'https'}://{parts.netloc}"
        return cls(base=base, repository=repository, door=door, login=login)

    def offers(self, artifact: Artifact) -> tuple[Offer, ...]:
        return (_Blob(registry=self, url=f"{self.base}/v2/{self.repository}/blobs/sha256:{artifact.sha256}"),)

    def headers(self) -> dict[str, str]:
        """What a request carries: the token that we hold, if any."""
        token = self._token.value
        return {} if token is None else {"Authorization": f"Bearer {token.reveal()}"}

    def refresh_token(self, url: str, stale: dict[str, str]) -> None:
        """Get a token for `url`, as its challenge says; nothing to do if another download just did."""
        with self._token.lock:
            if self.headers() != stale:
                return
            status, headers, _ = self.door.get_document(url)
            challenge = headers.get("WWW-Authenticate", "")
            if status != 401 or not challenge.lower().startswith("bearer "):
                raise translate_status(401)
            parameters = dict(_PARAMETER.findall(challenge))
            self._token.value = self._fetch_token(parameters)

    def _fetch_token(self, parameters: dict[str, str]) -> Secret:
        realm = parameters.get("realm", "")
        if urlsplit(realm).scheme not in ("http", "https"):
            raise failure(Code.REFUSED, f"the registry names no token service: {realm!r}")
        query = {"scope": f"repository:{self.repository}:pull"}
        query |= {name: parameters[name] for name in ("service", "scope") if name in parameters}
        # A password is shown only to a service that speaks TLS, or to the registry's own host.
        safe = realm.startswith("https:") or urlsplit(realm).netloc == urlsplit(self.base).netloc
        login = self.login if safe else None
        status, _, content = self.door.get_document(str(httpx.URL(realm, params=query)), login=login)
        if status != 200:
            raise translate_status(status)
        try:
            answer = json.loads(content)
            token = answer.get("token") or answer.get("access_token")
        except (ValueError, AttributeError):
            token = None
        if not isinstance(token, str):
            raise failure(Code.REFUSED, f"the token service {urlsplit(realm).netloc} gave no token")
        return Secret(token)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Blob:
    registry: Registry
    url: str

    @property
    def place(self) -> str:
        return self.url

    @contextmanager
    def open(self, offset: int) -> Iterator[Stream]:
        with ExitStack() as stack:
            carried = self.registry.headers()
            try:
                stream = stack.enter_context(self._get(offset, carried))
            except ArtifactError as error:
                if error.code != Code.FORBIDDEN:
                    raise
                # No token yet, or one that expired in the middle of a long staging.
                self.registry.refresh_token(self.url, carried)
                stream = stack.enter_context(self._get(offset, self.registry.headers()))
            yield stream

    def _get(self, offset: int, headers: dict[str, str]) -> AbstractContextManager[Stream]:
        # Basic credentials go with the request only where no token service stands between.
        login = None if headers else self.registry.login
        return self.registry.door.get_file(self.url, offset, login=login, headers=headers)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
