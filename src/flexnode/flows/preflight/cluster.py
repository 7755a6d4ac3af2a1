"""Checks of what the cluster is, and of what it has for its nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flexnode.errors import KubeError
from flexnode.flows.preflight.check import Finding, error, ok, skipped, warning
from flexnode.flows.preflight.reach import NO_CLUSTER, why_not
from flexnode.flows.preflight.situation import Situation
from flexnode.model.spec import ServingCertificates

_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:[-+].*)?")
OLDEST = 3
"""How many minor versions kubelet may be behind the API server."""


def check_version_skew(situation: Situation) -> Iterator[Finding]:
    if situation.cluster is None:
        yield skipped(NO_CLUSTER)
        return
    if situation.parts is None:
        yield skipped("no version of kubelet is chosen")
        return
    try:
        text = situation.cluster.version()
    except KubeError as failure:
        yield why_not(failure)
        return
    server, node = parse_version(text), parse_version(situation.parts.kubernetes)
    if server is None or node is None:
        yield warning(
            "preflight/version-unknown",
            f"the API server says its version is {text!r}",
            hint="compare it with versions.kubernetes yourself",
        )
        return
    words = f"kubelet {situation.parts.kubernetes}, API server {text.removeprefix('v')}"
    hint = f"set versions.kubernetes to {server[0]}.{server[1]}"
    if node[:2] > server[:2]:
        yield error(
            "preflight/kubelet-too-new", f"{words}: kubelet may not be the newer of the two", hint=hint
        )
    elif node[0] != server[0] or server[1] - node[1] > OLDEST:
        yield error(
            "preflight/kubelet-too-old",
            f"{words}: kubelet may be at most {OLDEST} minor versions older",
            hint=hint,
        )
    else:
        yield ok(words)


def check_kube_proxy(situation: Situation) -> Iterator[Finding]:
    if situation.cluster is None:
        yield skipped(NO_CLUSTER)
        return
    try:
        found = situation.cluster.has_kube_proxy()
    except KubeError as failure:
        yield why_not(failure)
        return
    if found is None:
        yield skipped("the token may not look; `aks-flex-node cluster setup` would let it")
    elif found:
        yield ok("the cluster brings kube-proxy, or what replaces it")
    else:
        yield warning(
            "preflight/no-kube-proxy",
            "nothing in the cluster makes Services work on its nodes: no kube-proxy, and nothing that"
            " replaces it",
            hint="have the cluster's administrator run kube-proxy as a DaemonSet (kubeadm init phase addon"
            " kube-proxy), or a network like Cilium that replaces it",
        )


def check_serving_approver(situation: Situation) -> Iterator[Finding]:
    if situation.cluster is None:
        yield skipped(NO_CLUSTER)
        return
    wish = situation.spec.kubelet.serving_certificates
    if wish is ServingCertificates.OFF:
        yield ok("kubelet signs its serving certificate itself")
        return
    try:
        approval = situation.cluster.serving_approval()
    except KubeError as failure:
        yield why_not(failure)
        return
    if approval.found:
        yield ok(f"somebody approves kubelets' serving certificates: {approval.why}")
    elif wish is ServingCertificates.AUTO:
        yield ok(f"nobody is seen to approve serving certificates, so kubelet signs its own: {approval.why}")
    elif approval.found is None:
        yield skipped(
            f"the cluster does not show whether somebody approves serving certificates: {approval.why}"
        )
    else:
        yield warning(
            "preflight/no-serving-approver",
            "kubelet shall have a serving certificate of the cluster, and nobody is seen to approve one:"
            f" logs and exec would fail ({approval.why})",
            hint="run `aks-flex-node cluster approve --watch` beside the cluster, or set"
            " kubelet.servingCertificates: auto",
        )


def parse_version(text: str) -> tuple[int, int, int] | None:
    """v1.29.3-eks-1 is (1, 29, 3); None where it is no version."""
    match = _VERSION.fullmatch(text.strip())
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))
