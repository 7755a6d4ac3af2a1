"""Checks of the names that the machine goes by, in itself and in the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flexnode.errors import KubeError
from flexnode.flows.node_api import NAME_CHANGED
from flexnode.flows.preflight.check import Finding, error, ok, skipped, warning
from flexnode.flows.preflight.reach import NO_CLUSTER, why_not
from flexnode.flows.preflight.situation import RemoteNode, Situation
from flexnode.kube import Code

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
NAME_LIMIT = 253
LABEL_LIMIT = 63
LOCAL = ("localhost", "localhost.localdomain", "localhost6")
"""What a machine is called that nobody has named."""


def check_hostname(situation: Situation) -> Iterator[Finding]:
    hostname, chosen = situation.facts.hostname, situation.spec.identity.name
    if hostname and hostname.lower() not in LOCAL and is_node_name(hostname.lower()):
        yield ok(hostname)
    elif chosen:
        yield ok(f"{hostname or 'none'}, but the configuration names the node {chosen}")
    elif not hostname or hostname.lower() in LOCAL:
        yield error(
            "preflight/hostname-local",
            f"the host name is {hostname or 'empty'}: every machine that nobody named is called so",
            hint="hostnamectl set-hostname NAME, or set node.name in the configuration",
        )
    else:
        yield error(
            "preflight/hostname-invalid",
            f"the host name {hostname!r} cannot be the name of a Node: lower-case letters, digits, - and .,"
            " beginning and ending with a letter or a digit",
            hint="hostnamectl set-hostname NAME, or set node.name in the configuration",
        )


def check_node_name(situation: Situation) -> Iterator[Finding]:
    name = situation.node_name
    if not is_node_name(name):
        yield error(
            "preflight/node-name-invalid",
            f"{name!r} cannot be the name of a Node: lower-case letters, digits, - and ., beginning and"
            " ending with a letter or a digit",
            hint="set node.name in the configuration",
        )
    elif situation.ours.node not in ("", name):
        yield error(
            NAME_CHANGED,
            f"this machine is the node {situation.ours.node}, and not {name}",
            hint=f"set node.name to {situation.ours.node}; or leave first: aks-flex-node unbootstrap",
        )
    elif situation.cluster is None:
        yield skipped(NO_CLUSTER)
    else:
        try:
            node = situation.cluster.find_node(name)
        except KubeError as failure:
            yield _unknown(name, failure)
        else:
            yield _judge(situation, name, node)


def is_node_name(name: str) -> bool:
    """Whether Kubernetes would take `name`: a DNS name of RFC 1123."""
    return (
        len(name) <= NAME_LIMIT
        and bool(_SUBDOMAIN.fullmatch(name))
        and all(len(label) <= LABEL_LIMIT for label in name.split("."))
    )


def _judge(situation: Situation, name: str, node: RemoteNode | None) -> Finding:
    if node is None:
        return ok(f"{name} is free")
    theirs, mine = node.system_uuid.lower(), situation.facts.system_uuid.lower()
    if theirs and theirs == mine:
        return ok(f"{name} is this machine")
    if not theirs:
        return ok(f"{name} exists, and no machine has it yet")
    if not mine:
        return warning(
            "preflight/node-name-unclear",
            f"a Node {name} exists (system UUID {theirs}), and this machine's firmware gives it no UUID",
            hint=f"make sure that it is this machine: kubectl describe node {name}",
        )
    return error(
        "preflight/node-name-taken",
        f"the Node {name} is another machine: its system UUID is {theirs}, this one's is {mine}",
        hint=f"set node.name to a name of its own; or, if that machine is gone, kubectl delete node {name}",
    )


def _unknown(name: str, failure: KubeError) -> Finding:
    if failure.code == Code.FORBIDDEN:
        return warning(
            "preflight/node-name-unknown",
            f"the token may not read Nodes, so nobody knows whether {name} is taken",
            hint="`aks-flex-node cluster setup` grants that; or ask: kubectl get node " + name,
        )
    return why_not(failure)
