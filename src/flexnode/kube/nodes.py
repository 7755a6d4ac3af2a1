"""The Node object: reading it, cordoning it, saying things on it, deleting it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from flexnode.clock import Clock
from flexnode.errors import KubeError
from flexnode.kube.failures import Code
from flexnode.kube.objects import Listing, Meta, ask, find, list_all
from flexnode.kube.request import Api, Content, Request, object_path, with_body
from flexnode.kube.time_format import render_time

NODES = "/api/v1/nodes"


class NodeCondition(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that is said about a node. `status` is True, False or Unknown."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_heartbeat_time: datetime | None = None
    last_transition_time: datetime | None = None


class NodeTaint(msgspec.Struct, frozen=True):
    """A taint, as the cluster has it."""

    key: str
    effect: str
    value: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    unschedulable: bool = False
    taints: tuple[NodeTaint, ...] | None = None
    pod_cidr: str = msgspec.field(default="", name="podCIDR")
    pod_cidrs: tuple[str, ...] | None = msgspec.field(default=None, name="podCIDRs")
    provider_id: str = msgspec.field(default="", name="providerID")


class _Info(msgspec.Struct, frozen=True, rename="camel"):
    kubelet_version: str = ""
    system_uuid: str = msgspec.field(default="", name="systemUUID")
    boot_id: str = msgspec.field(default="", name="bootID")


class _Address(msgspec.Struct, frozen=True):
    type: str = ""
    address: str = ""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    conditions: tuple[NodeCondition, ...] | None = None
    addresses: tuple[_Address, ...] | None = None
    node_info: _Info = _Info()


class NodeObject(msgspec.Struct, frozen=True):
    """A Node as the API sends it."""

    metadata: Meta = Meta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A node, as its cluster sees it."""

    name: str
    uid: str = ""
    resource_version: str = ""
    created: datetime | None = None
    deleting: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    conditions: Mapping[str, NodeCondition] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()
    kubelet_version: str = ""  # v1.29.3
    system_uuid: str = ""
    boot_id: str = ""
    pod_cidrs: tuple[str, ...] = ()
    provider_id: str = ""
    unschedulable: bool = False
    taints: tuple[NodeTaint, ...] = ()

    @property
    def ready(self) -> NodeCondition | None:
        """The Ready condition; None until kubelet has reported for the first time."""
        return self.conditions.get("Ready")

    @property
    def is_ready(self) -> bool:
        return self.ready is not None and self.ready.status == "True"


def find_node(api: Api, name: str) -> Node | None:
    """The node of that name; None if the cluster has none."""
    found = find(api, Request(path=object_path(NODES, name)), NodeObject)
    return None if found is None else view_node(found)


def require_node(api: Api, name: str) -> Node:
    """The node of that name, which must exist."""
    return view_node(ask(api, Request(path=object_path(NODES, name)), NodeObject))


def list_nodes(api: Api) -> tuple[Node, ...]:
    """All nodes of the cluster. A node's own identity may not do this."""
    found, _ = list_all(api, NODES, Listing[NodeObject])
    return tuple(view_node(each) for each in found)


def cordon(api: Api, name: str) -> Node:
    """Let no new pods come to the node."""
    return _patch(api, name, {"spec": {"unschedulable": True}})


def uncordon(api: Api, name: str) -> Node:
    """Let pods come to the node again."""
    return _patch(api, name, {"spec": {"unschedulable": None}})


def mark_node(
    api: Api,
    name: str,
    *,
    labels: Mapping[str, str | None] | None = None,
    annotations: Mapping[str, str | None] | None = None,
) -> Node:
    """Set labels and annotations; None takes one away, those not named stay."""
    return _patch(api, name, {"metadata": {"labels": labels or {}, "annotations": annotations or {}}})


def set_condition(
    api: Api, node: Node, *, kind: str, status: str, reason: str, message: str, clock: Clock
) -> Node:
    """Say something about the node. The moment of its last change moves only when `status` changes."""
    now = render_time(clock.now())
    before = node.conditions.get(kind)
    since = before.last_transition_time if before and before.status == status else None
    condition = {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now if since is None else render_time(since),
    }
    path = object_path(NODES, node.name, "status")
    # Strategic: the list merges by type, so that kubelet's own conditions stay.
    request = with_body("PATCH", path, {"status": {"conditions": [condition]}}, content=Content.STRATEGIC)
    return view_node(ask(api, request, NodeObject))


def delete_node(api: Api, name: str, *, uid: str = "") -> None:
    """Delete the Node object; done as well if it is gone already.

    With `uid` only that one: a machine that took over the name keeps its own.
    """
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if uid:
        options["preconditions"] = {"uid": uid}
    try:
        api.send(with_body("DELETE", object_path(NODES, name), options))
    except KubeError as error:
        if error.code == Code.NOT_FOUND or (
            uid and error.code == Code.CONFLICT and _is_other(api, name, uid)
        ):
            return
        raise


def view_node(found: NodeObject) -> Node:
    """The values of a Node that the product looks at."""
    meta, spec, status = found.metadata, found.spec, found.status
    return Node(
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        created=meta.creation_timestamp,
        deleting=meta.deletion_timestamp is not None,
        labels=meta.labels or {},
        annotations=meta.annotations or {},
        conditions={condition.type: condition for condition in status.conditions or ()},
        addresses=tuple(entry.address for entry in status.addresses or ()),
        kubelet_version=status.node_info.kubelet_version,
        system_uuid=status.node_info.system_uuid,
        boot_id=status.node_info.boot_id,
        pod_cidrs=spec.pod_cidrs or ((spec.pod_cidr,) if spec.pod_cidr else ()),
        provider_id=spec.provider_id,
        unschedulable=spec.unschedulable,
        taints=spec.taints or (),
    )


def _patch(api: Api, name: str, change: Mapping[str, Any]) -> Node:
    request = with_body("PATCH", object_path(NODES, name), change, content=Content.MERGE)
    return view_node(ask(api, request, NodeObject))


def _is_other(api: Api, name: str, uid: str) -> bool:
    found = find_node(api, name)
    return found is None or found.uid != uid
