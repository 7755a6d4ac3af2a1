"""How an approver of kubelets' serving certificates lets nodes know of it, before the first of them asks."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

from flexnode.clock import Clock
from flexnode.kube.apply import apply
from flexnode.kube.approval import APPROVER, LASTS, SIGN
from flexnode.kube.leases import find_lease
from flexnode.kube.manifests import compose_sight_of_approver
from flexnode.kube.request import Api, Request

RENEWED = timedelta(minutes=1)
"""How often an approver renews its word."""


def announce(api: Api, holder: str, clock: Clock) -> None:
    """Say that `holder` approves, and let whoever joins read it, on a cluster that nobody set up too."""
    for manifest in compose_sight_of_approver():
        apply(api, manifest)
    renew(api, holder, clock)


def renew(api: Api, holder: str, clock: Clock) -> None:
    apply(api, compose_sign(holder, clock))


def withdraw(api: Api, holder: str) -> None:
    """Take the word back, unless it is another approver's by now."""
    lease = find_lease(api, SIGN)
    if lease is not None and lease.holder == holder:
        api.send(Request(path=SIGN, method="DELETE"))


def compose_sign(holder: str, clock: Clock) -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": APPROVER, "namespace": "kube-system"},
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": int(LASTS.total_seconds()),
            "renewTime": clock.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }
