"""Server-side apply: bring an object to what it should be, and say what that changed."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from flexnode.kube.objects import ask, find
from flexnode.kube.request import Api, Content, Request, object_path, with_body

FIELD_MANAGER = "aks-flex-node"

Object = dict[str, Any]

_BOOKKEEPING = ("resourceVersion", "managedFields", "generation")
_COLLECTIONS = {
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "ConfigMap": "configmaps",
    "Lease": "leases",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


class Applied(StrEnum):
    """What applying an object did."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


def apply(api: Api, document: Mapping[str, Any]) -> Applied:
    """Apply one object. What others put into it beside our fields stays; our fields become ours."""
    path = path_of(document)
    before = find(api, Request(path=path), Object)
    # Force: a field that somebody else claims is one that this product's objects cannot work without.
    request = with_body(
        "PATCH",
        path,
        document,
        content=Content.APPLY,
        query=(("fieldManager", FIELD_MANAGER), ("force", "true")),
    )
    after = ask(api, request, Object)
    if before is None:
        return Applied.CREATED
    return Applied.UNCHANGED if _said(before) == _said(after) else Applied.CHANGED


def _said(document: Object) -> Object:
    """What an object says, without the server's own bookkeeping, which moves whenever a controller looks."""
    metadata = {key: value for key, value in document["metadata"].items() if key not in _BOOKKEEPING}
    return {**document, "metadata": metadata, "status": None}


def path_of(document: Mapping[str, Any]) -> str:
    """Where an object of one of the kinds that this product applies lies in the API."""
    version, metadata = document["apiVersion"], document["metadata"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    if "namespace" in metadata:
        base = object_path(f"{base}/namespaces", metadata["namespace"])
    return object_path(base, _COLLECTIONS[document["kind"]], metadata["name"])
