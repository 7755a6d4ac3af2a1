"""What a cluster must know before nodes can join it and leave it: the objects of `cluster setup`, as data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flexnode.kube.approval import APPROVER
from flexnode.kube.facts import CONFIG_MAPS, DNS_SERVICE, KUBE_PROXY
from flexnode.kube.tokens import BOOTSTRAP_GROUP

Object = dict[str, Any]

ALL_TOKENS_GROUP = "system:bootstrappers"
NODES_GROUP = "system:nodes"
PREFIX = "flexnode.io:"
POLICY = "flexnode.io-nodes-delete-only-themselves"
LABELS = {"app.kubernetes.io/managed-by": "aks-flex-node"}

_LEASES = "coordination.k8s.io"
_RBAC = "rbac.authorization.k8s.io"
_SIGNING = "system:certificates.k8s.io:certificatesigningrequests"


def compose_setup(bootstrap_group: str = BOOTSTRAP_GROUP) -> tuple[Object, ...]:
    """All of them, in the order in which they are applied: what limits a right comes before the right."""
    joining, joined = (bootstrap_group,), (NODES_GROUP,)
    return (
        *_deletion_policy(),
        # Joining: ask for a certificate, and have it approved by the cluster's own controller.
        _cluster_binding("join", "system:node-bootstrapper", joining),
        _cluster_binding("approve-join", f"{_SIGNING}:nodeclient", joining),
        _cluster_binding("approve-renewal", f"{_SIGNING}:selfnodeclient", joined),
        # A name that another machine has is seen before the join, not after it took the other's place.
        *_cluster_role("see-nodes", [_rule("", "nodes", "get")], joining),
        # Leaving: a node takes its own Node object away. The policy above, and NodeRestriction, say which.
        *_cluster_role("leave", [_rule("", "nodes", "delete")], joined),
        # Detection: what a node composes itself from, read by name and nothing beside it.
        *_cluster_role("see-service-network", _service_network_rules(), (*joining, *joined)),
        *_role("see-cluster-facts", _facts_rules(), (*joining, *joined)),
        *compose_sight_of_approver(),
    )


def compose_sight_of_approver() -> tuple[Object, Object]:
    """Whether a kubelet's serving certificate will be approved is known before it is asked for.

    To the holders of all bootstrap tokens: an approver does not know whose this cluster hands out.
    """
    groups = (ALL_TOKENS_GROUP, NODES_GROUP)
    return _role("see-serving-approver", [_rule(_LEASES, "leases", "get", names=(APPROVER,))], groups)


def _service_network_rules() -> list[Object]:
    return [_rule("networking.k8s.io", "servicecidrs", "get", names=("kubernetes",))]


def _facts_rules() -> list[Object]:
    return [
        _rule("", "configmaps", "get", names=CONFIG_MAPS),
        _rule("", "services", "get", names=(DNS_SERVICE,)),
        _rule("apps", "daemonsets", "get", names=(KUBE_PROXY,)),
    ]


def _deletion_policy() -> tuple[Object, Object]:
    """Holds what NodeRestriction holds, on clusters whose API server runs without that plugin, too."""
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": _metadata(POLICY),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["DELETE"],
                        "resources": ["nodes"],
                    }
                ]
            },
            "matchConditions": [
                {"name": "a-node-asks", "expression": f"'{NODES_GROUP}' in request.userInfo.groups"}
            ],
            "validations": [
                {
                    "expression": "request.userInfo.username == 'system:node:' + request.name",
                    "message": "a node may delete its own Node object only",
                }
            ],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": _metadata(POLICY),
        "spec": {"policyName": POLICY, "validationActions": ["Deny"]},
    }
    return policy, binding


def _cluster_role(name: str, rules: list[Object], groups: Iterable[str]) -> tuple[Object, Object]:
    role = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": _metadata(PREFIX + name),
        "rules": rules,
    }
    return role, _cluster_binding(name, PREFIX + name, groups)


def _cluster_binding(name: str, role: str, groups: Iterable[str]) -> Object:
    return {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": _metadata(PREFIX + name),
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
        "subjects": _subjects(groups),
    }


def _role(name: str, rules: list[Object], groups: Iterable[str]) -> tuple[Object, Object]:
    metadata = _metadata(PREFIX + name, namespace="kube-system")
    role = {"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules}
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": PREFIX + name},
        "subjects": _subjects(groups),
    }
    return role, binding


def _rule(group: str, resource: str, verb: str, *, names: Iterable[str] = ()) -> Object:
    rule: Object = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
    return {**rule, "resourceNames": list(names)} if names else rule


def _subjects(groups: Iterable[str]) -> list[Object]:
    return [{"apiGroup": _RBAC, "kind": "Group", "name": group} for group in groups]


def _metadata(name: str, **more: str) -> Object:
    return {"name": name, "labels": LABELS, **more}
