"""The Lease that kubelet renews every few seconds: the only proof that it is alive now.

A Node stays Ready for some 40 seconds after its kubelet died.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import msgspec

from flexnode.kube.objects import find
from flexnode.kube.request import Api, Request, object_path

NODE_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: datetime | None = None


class _Lease(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """A heartbeat. `renewed` is by the clock of whoever holds it, not by the server's."""

    holder: str
    renewed: datetime | None
    duration: int = 0  # seconds


def find_node_lease(api: Api, node: str) -> Lease | None:
    """The node's Lease; None until its kubelet has made it."""
    return find_lease(api, object_path(NODE_LEASES, node))


def find_lease(api: Api, path: str) -> Lease | None:
    found = find(api, Request(path=path), _Lease)
    if found is None:
        return None
    spec = found.spec
    return Lease(
        holder=spec.holder_identity or "",
        renewed=spec.renew_time,
        duration=spec.lease_duration_seconds or 0,
    )
