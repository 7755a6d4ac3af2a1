"""The pods of a node: listing them, and asking the cluster to evict one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from flexnode.errors import KubeError
from flexnode.kube.failures import Code
from flexnode.kube.objects import Listing, Meta, find, list_all
from flexnode.kube.request import Api, Request, object_path, with_body

PODS = "/api/v1/pods"
MIRROR = "kubernetes.io/config.mirror"


class _Volume(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    empty_dir: dict[str, Any] | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""
    volumes: tuple[_Volume, ...] | None = None
    termination_grace_period_seconds: int | None = None


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""


class _Pod(msgspec.Struct, frozen=True):
    metadata: Meta = Meta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


@dataclass(frozen=True, kw_only=True, slots=True)
class Pod:
    """A pod, as far as draining a node looks at it."""

    namespace: str
    name: str
    uid: str
    node: str = ""
    phase: str = ""  # Pending, Running, Succeeded, Failed, Unknown
    controller: str = (
        ""  # the kind of what owns and replaces it: ReplicaSet, DaemonSet …; empty: nothing does
    )
    mirror: bool = False  # kubelet's own picture of a static pod
    empty_dirs: tuple[str, ...] = ()  # volumes whose data goes with the pod
    deleting: bool = False
    grace_period: int | None = None  # seconds
    labels: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def finished(self) -> bool:
        return self.phase in ("Succeeded", "Failed")


class Eviction(StrEnum):
    """What became of asking the cluster to evict a pod."""

    ACCEPTED = "accepted"  # it terminates now, within its grace period
    GONE = "gone"  # it is not there any more, or another one has its name
    BLOCKED = "blocked"  # a disruption budget does not allow it now
    LATER = "later"  # not decided: throttled, its namespace is being deleted, or the server is in trouble


@dataclass(frozen=True, kw_only=True, slots=True)
class EvictionOutcome:
    """The answer to one eviction. `retry_after`: how long the server asked to be left alone."""

    pod: Pod
    result: Eviction
    message: str = ""  # for BLOCKED the budget's name and what it needs
    retry_after: float | None = None


def list_pods(api: Api, node: str) -> tuple[Pod, ...]:
    """All pods that are bound to the node, in every namespace."""
    query = {"fieldSelector": f"spec.nodeName={node}"}
    found, _ = list_all(api, PODS, Listing[_Pod], query)
    return tuple(_view(pod) for pod in found)


def find_pod(api: Api, namespace: str, name: str) -> Pod | None:
    """The pod of that name, whichever it is now."""
    found = find(api, Request(path=_path(namespace, name)), _Pod)
    return None if found is None else _view(found)


def is_gone(api: Api, pod: Pod) -> bool:
    """Whether this very pod has left the node. Since 1.32 a kubelet may not read a pod that has: 403."""
    try:
        found = find_pod(api, pod.namespace, pod.name)
    except KubeError as error:
        if error.code == Code.FORBIDDEN:
            return True
        raise
    return found is None or found.uid != pod.uid


def evict(api: Api, pod: Pod, *, grace_period: int | None = None) -> EvictionOutcome:
    """Ask the cluster to evict this very pod; None leaves the grace period to the pod.

    What may pass by itself is an outcome. What will not (no permission, a wrong certificate) is raised.
    """
    options: dict[str, Any] = {"preconditions": {"uid": pod.uid}}
    if grace_period is not None:
        options["gracePeriodSeconds"] = grace_period
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": options,
    }
    try:
        api.send(with_body("POST", _path(pod.namespace, pod.name, "eviction"), eviction))
    except KubeError as error:
        return _refused(api, pod, error)
    return EvictionOutcome(pod=pod, result=Eviction.ACCEPTED)


def _refused(api: Api, pod: Pod, error: KubeError) -> EvictionOutcome:
    if error.code == Code.NOT_FOUND:
        return EvictionOutcome(pod=pod, result=Eviction.GONE)
    # A conflict is a pod with another UID under this name, or a race between two evictions.
    if error.code == Code.CONFLICT and is_gone(api, pod):
        return EvictionOutcome(pod=pod, result=Eviction.GONE)
    if not error.transient:
        raise error
    result = Eviction.BLOCKED if error.code == Code.DISRUPTION_BUDGET else Eviction.LATER
    return EvictionOutcome(pod=pod, result=result, message=error.message, retry_after=error.retry_after)


def _path(namespace: str, name: str, *rest: str) -> str:
    return object_path("/api/v1/namespaces", namespace, "pods", name, *rest)


def _view(found: _Pod) -> Pod:
    meta, spec = found.metadata, found.spec
    owners = [owner for owner in meta.owner_references or () if owner.controller]
    return Pod(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        node=spec.node_name,
        phase=found.status.phase,
        controller=owners[0].kind if owners else "",
        mirror=MIRROR in (meta.annotations or {}),
        empty_dirs=tuple(volume.name for volume in spec.volumes or () if volume.empty_dir is not None),
        deleting=meta.deletion_timestamp is not None,
        grace_period=spec.termination_grace_period_seconds,
        labels=meta.labels or {},
    )
