"""Whether somebody approves kubelets' serving certificates, by what the cluster shows of it.

A fresh cluster has no requests yet, and what was approved is cleaned away an hour later. So the approvers
that this product knows of say so themselves, in a Lease that they renew for as long as they work.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from flexnode.clock import Clock
from flexnode.errors import KubeError
from flexnode.kube.certificates import SERVING_SIGNER, CsrState, list_csrs
from flexnode.kube.failures import Code
from flexnode.kube.leases import find_lease
from flexnode.kube.request import Api

APPROVER = "flexnode.io-serving-approver"
SIGN = f"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/{APPROVER}"

LASTS = timedelta(minutes=3)
"""For so long after it was renewed the sign holds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Approval:
    """`found` None: nothing shows it. `why`: what shows it, or does not."""

    found: bool | None
    why: str


def find_approval(api: Api, clock: Clock) -> Approval:
    """An approver's own word, else what became of other nodes' requests, as far as we may see either."""
    said = _find_sign(api, clock)
    if said.found:
        return said
    seen = _look_at_requests(api)
    return seen if seen.found is not None else Approval(found=None, why=f"{said.why}, and {seen.why}")


def _find_sign(api: Api, clock: Clock) -> Approval:
    try:
        lease = find_lease(api, SIGN)
    except KubeError as error:
        return _unless_failed(error, "an approver's own word may not be read")
    if lease is None or lease.renewed is None:
        return Approval(found=None, why="no approver has announced itself")
    if clock.now() - lease.renewed <= LASTS:
        return Approval(found=True, why=f"{lease.holder} says so")
    return Approval(found=None, why=f"{lease.holder} last said so at {lease.renewed:%Y-%m-%d %H:%M} UTC")


def _look_at_requests(api: Api) -> Approval:
    try:
        requests, _ = list_csrs(api, SERVING_SIGNER)
    except KubeError as error:
        return _unless_failed(error, "the requests of other nodes may not be read")
    approved = [each.name for each in requests if each.state in (CsrState.APPROVED, CsrState.ISSUED)]
    if approved:
        return Approval(found=True, why=f"the request {approved[0]} was approved")
    if requests:
        return Approval(found=False, why=f"the request {requests[0].name} was not approved")
    return Approval(found=None, why="there is no request of another node to see it by")


def _unless_failed(error: KubeError, why: str) -> Approval:
    if error.code not in (Code.FORBIDDEN, Code.UNAUTHORIZED):
        raise error
    return Approval(found=None, why=why)
