"""The cluster, as checks see it, asked through the API."""

from __future__ import annotations

import threading
from collections.abc import Callable

from flexnode.errors import FlexError, KubeError
from flexnode.flows.preflight.situation import Reached, RemoteNode
from flexnode.kube import Code, KubeClient
from flexnode.kube.discovery import identify, is_ready, read_version
from flexnode.kube.facts import ClusterFacts, ServiceProxy, detect_cluster
from flexnode.kube.nodes import find_node


class AskCluster:
    """A `Cluster`. `connect` is called once, at the first question; if it fails, every question does.

    Safe to share between threads: checks ask at the same time.
    """

    def __init__(self, connect: Callable[[], KubeClient]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._client: KubeClient | None = None
        self._failure: FlexError | None = None
        self._facts: ClusterFacts | None = None

    def __enter__(self) -> AskCluster:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()

    def client(self) -> KubeClient:
        """The client; making it may ask for the CA, once for everybody who waits here."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._client is None:
                try:
                    self._client = self._connect()
                except FlexError as error:
                    self._failure = error
                    raise
            return self._client

    def facts(self) -> ClusterFacts:
        client = self.client()
        with self._lock:
            if self._facts is None:
                self._facts = detect_cluster(client)
            return self._facts

    def reach(self) -> Reached:
        client = self.client()
        ready = is_ready(client)
        return Reached(ready=ready, clock_offset=client.clock_offset)

    def authenticate(self) -> None:
        try:
            identify(self.client())
        except KubeError as error:
            # A cluster that is too old for this question has let us in to say so.
            if error.code != Code.NOT_FOUND:
                raise

    def version(self) -> str:
        return read_version(self.client()).git_version

    def find_node(self, name: str) -> RemoteNode | None:
        node = find_node(self.client(), name)
        return None if node is None else RemoteNode(name=node.name, system_uuid=node.system_uuid)

    def has_kube_proxy(self) -> bool | None:
        found = self.facts().service_proxy
        return None if found is None else found is not ServiceProxy.NONE

    def has_serving_approver(self) -> bool | None:
        return self.facts().approves_serving
