"""The cluster, as checks see it, asked through the API."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from flexnode.clock import Clock
from flexnode.errors import FlexError, KubeError
from flexnode.flows.preflight.situation import Reached, RemoteNode
from flexnode.kube import Code, KubeClient, Request
from flexnode.kube.approval import Approval
from flexnode.kube.discovery import identify, is_ready, read_version
from flexnode.kube.facts import ClusterFacts, ServiceProxy, detect_cluster
from flexnode.kube.nodes import find_node


@dataclass(kw_only=True)
class _Question:
    """One question and what came of it; whoever holds the lock is asking it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    answer: bytes | FlexError | None = None


class Once:
    """An `Api` that asks each question once. Who asks it again, or meanwhile, gets the same answer."""

    def __init__(self, client: KubeClient) -> None:
        self.client = client
        self._lock = threading.Lock()
        self._questions: dict[Request, _Question] = {}

    def send(self, request: Request) -> bytes:
        with self._lock:
            question = self._questions.setdefault(request, _Question())
        with question.lock:
            if question.answer is None:
                try:
                    question.answer = self.client.send(request)
                except FlexError as error:
                    question.answer = error
            if isinstance(question.answer, FlexError):
                raise question.answer
            return question.answer

    def stream(self, request: Request) -> AbstractContextManager[Iterator[bytes]]:
        """What goes on is nobody's answer but the asker's."""
        return self.client.stream(request)


class AskCluster:
    """A `Cluster`. `connect` is called once, at the first question; if it fails, every question does.

    Safe to share between threads: checks ask at the same time.
    """

    def __init__(self, connect: Callable[[], KubeClient], clock: Clock) -> None:
        self._connect = connect
        self._clock = clock
        self._lock = threading.Lock()
        self._api: Once | None = None
        self._failure: FlexError | None = None

    def __enter__(self) -> AskCluster:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._api is not None:
                self._api.client.close()

    def api(self) -> Once:
        """The way to it; making it may ask for the CA, once for everybody who waits here."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._api is None:
                try:
                    self._api = Once(self._connect())
                except FlexError as error:
                    self._failure = error
                    raise
            return self._api

    def facts(self) -> ClusterFacts:
        return detect_cluster(self.api(), self._clock)

    def reach(self) -> Reached:
        api = self.api()
        ready = is_ready(api)
        return Reached(ready=ready, clock_offset=api.client.clock_offset)

    def authenticate(self) -> None:
        try:
            identify(self.api())
        except KubeError as error:
            # A cluster that is too old for this question has let us in to say so.
            if error.code != Code.NOT_FOUND:
                raise

    def version(self) -> str:
        return read_version(self.api()).git_version

    def find_node(self, name: str) -> RemoteNode | None:
        node = find_node(self.api(), name)
        return None if node is None else RemoteNode(name=node.name, system_uuid=node.system_uuid)

    def has_kube_proxy(self) -> bool | None:
        found = self.facts().service_proxy
        return None if found is None else found is not ServiceProxy.NONE

    def serving_approval(self) -> Approval:
        facts = self.facts()
        return Approval(found=facts.approves_serving, why=facts.approval)
