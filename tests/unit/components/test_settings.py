"""No setting is accepted and then forgotten: each one changes the node, or has another place, named here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from flexnode.components.joining import NodeInputs
from flexnode.components.node import compose_node
from flexnode.model.machine import CniMode, CredentialProvider, RegistryMirror
from flexnode.model.spec import Effect, NodeSpec, ServingCertificates, Taint
from flexnode.secret import Secret
from unit.components.samples import COMPANY_CA, FULL_SPEC, MIRROR_CA, SPEC, text_of, with_spec

MIRROR = RegistryMirror(registry="docker.io", endpoints=("https://mirror.example",))
PROVIDER = CredentialProvider(name="login", binary="/opt/login", match_images=("*.example",))
TAINT = Taint(key="dedicated", effect=Effect.NO_SCHEDULE)

CHANGES: dict[str, Any] = {
    "machine.runtime.sandbox_image": "registry.example/pause:1",
    "machine.runtime.registries": (MIRROR,),
    "machine.runtime.preload": ("busybox",),
    "machine.runtime.cni": CniMode.NONE,
    "machine.host.manage_swap": False,
    "machine.host.manage_time": False,
    "machine.host.manage_journald": False,
    "machine.host.manage_updates": False,
    "machine.host.manage_firewall": False,
    "machine.host.support_tools": False,
    "machine.host.journald_max_use": "1G",
    "machine.host.sysctls": {"vm.max_map_count": "262144"},
    "machine.host.modules": ("nf_conntrack",),
    "machine.host.ca_certificates": (COMPANY_CA,),
    "machine.proxy.http": "http://other.example:3128",
    "machine.proxy.https": "http://other.example:3128",
    "machine.proxy.no_proxy": ("192.0.2.0/24",),
    "cluster.server": "https://192.0.2.11:6443",
    "cluster.ca": MIRROR_CA,
    "cluster.dns_service_ip": "10.96.0.11",
    "cluster.domain": "cluster.internal",
    "cluster.service_cidr": "10.96.0.0/16",
    "cluster.pod_cidr": "10.244.0.0/16",
    "identity.name": "other",
    "identity.labels": {"disk": "ssd"},
    "identity.taints": (TAINT,),
    "identity.ip": "192.0.2.7",
    "identity.provider_id": "flexnode://node",
    "identity.region": "westeurope",
    "identity.zone": "hall-2",
    "kubelet.max_pods": 60,
    "kubelet.verbosity": 4,
    "kubelet.image_gc_high_percent": 75,
    "kubelet.image_gc_low_percent": 60,
    "kubelet.kube_reserved": {"cpu": "1"},
    "kubelet.system_reserved": {"cpu": "1"},
    "kubelet.eviction_hard": {"memory.available": "1Gi"},
    "kubelet.pod_pids_limit": 100,
    "kubelet.shutdown_grace_period": "60s",
    "kubelet.shutdown_grace_period_critical_pods": "5s",
    "kubelet.serialize_image_pulls": True,
    "kubelet.max_parallel_image_pulls": 4,
    "kubelet.container_log_max_size": "10Mi",
    "kubelet.container_log_max_files": 3,
    "kubelet.protect_kernel_defaults": False,
    "kubelet.feature_gates": {"Alpha": True},
    "kubelet.serving_certificates": ServingCertificates.ON,
    "kubelet.credential_providers": (PROVIDER,),
    "credentials.bootstrap_token": None,
    "credentials.http_proxy": Secret("http://user:word@proxy.example"),
    "credentials.https_proxy": Secret("http://user:word@proxy.example"),
}
"""Each setting with another value than the default node's."""

ELSEWHERE = {
    "machine.versions.kubernetes": "chooses the parts that a node is composed from",
    "machine.versions.containerd": "chooses the parts that a node is composed from",
    "machine.versions.runc": "chooses the parts that a node is composed from",
    "machine.versions.cni_plugins": "chooses the parts that a node is composed from",
    "cluster.ca_hashes": "checks the CA that is found, before a node is composed with it",
    "identity.annotations": "kubelet has no way to set them: patched on the Node after the join",
    "credentials.azure": "the components of Azure",
    "azure": "the components of Azure, and the flows that find out about the cluster",
    "artifacts": "where staging fetches from",
    "agent": "the daemon's own",
}

BASE = replace(
    SPEC, machine=replace(SPEC.machine, proxy=replace(SPEC.machine.proxy, http="http://p.example"))
)


def leaves(value: object, path: str = "") -> Iterator[str]:
    """Every setting, by its path; a part that has a place of its own counts as one."""
    if path in ELSEWHERE or not is_dataclass(value):
        yield path
        return
    for each in fields(value):
        yield from leaves(getattr(value, each.name), f"{path}.{each.name}".lstrip("."))


def changed(value: Any, path: str, to: object) -> Any:
    name, _, rest = path.partition(".")
    return replace(value, **{name: changed(getattr(value, name), rest, to) if rest else to})


def generation_of(spec: NodeSpec) -> str:
    return compose_node(with_spec(spec)).id


def test_every_setting_is_accounted_for() -> None:
    """One that is added to the configuration and to nothing else fails here."""
    assert set(leaves(NodeSpec())) == CHANGES.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("path", CHANGES)
def test_a_setting_changes_the_node(path: str) -> None:
    assert generation_of(changed(BASE, path, CHANGES[path])) != generation_of(BASE)


@pytest.mark.parametrize(
    ("setting", "element", "changes"),
    [
        (
            "machine.runtime.registries",
            MIRROR,
            {"registry": "ghcr.io", "endpoints": ("https://other.example",), "ca": MIRROR_CA},
        ),
        (
            "kubelet.credential_providers",
            PROVIDER,
            {
                "name": "other",
                "binary": "/opt/other",
                "match_images": ("*.other",),
                "api_version": "credentialprovider.kubelet.k8s.io/v2",
                "cache_duration": "1m0s",
                "args": ("--quiet",),
                "env": {"LEVEL": "info"},
            },
        ),
        ("identity.taints", TAINT, {"key": "other", "effect": Effect.NO_EXECUTE, "value": "yes"}),
    ],
)
def test_so_does_each_part_of_a_list(setting: str, element: Any, changes: dict[str, Any]) -> None:
    assert {each.name for each in fields(element)} == changes.keys()
    before = generation_of(changed(SPEC, setting, (element,)))
    for name, value in changes.items():
        after = generation_of(changed(SPEC, setting, (replace(element, **{name: value}),)))
        assert after != before, f"{setting}: {name}"


def test_a_new_token_is_the_same_node() -> None:
    """A changed token on a joined node changes nothing: it is in the generation by name only."""
    other = changed(SPEC, "credentials.bootstrap_token", Secret("zyxwvu.9876543210zyxwvu"))
    assert generation_of(other) == generation_of(SPEC)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("maxPods", 60),
        ("logging.verbosity", 4),
        ("imageGCHighThresholdPercent", 75),
        ("imageGCLowThresholdPercent", 60),
        ("kubeReserved", {"cpu": "200m", "memory": "1Gi"}),
        ("systemReserved", {"memory": "256Mi"}),
        ("podPidsLimit", 4096),
        ("shutdownGracePeriod", "1m30s"),
        ("shutdownGracePeriodCriticalPods", "20s"),
        ("serializeImagePulls", False),
        ("maxParallelImagePulls", 4),
        ("containerLogMaxSize", "10Mi"),
        ("containerLogMaxFiles", 3),
        ("protectKernelDefaults", False),
        ("featureGates", {"Alpha": False, "Beta": True}),
        ("serverTLSBootstrap", True),
        ("clusterDNS", ["10.0.0.10"]),
        ("clusterDomain", "cluster.internal"),
        ("providerID", "flexnode://edge-7"),
        (
            "registerWithTaints",
            [
                {"key": "example.com/gpu", "value": "a100", "effect": "NoSchedule"},
                {"key": "example.com/edge", "effect": "NoExecute"},
            ],
        ),
    ],
)
def test_a_setting_of_kubelet_reaches_kubelet(path: str, value: object) -> None:
    found: Any = kubelet_config(with_spec(FULL_SPEC))
    for name in path.split("."):
        found = found[name]
    assert found == value


def kubelet_config(inputs: NodeInputs) -> dict[str, Any]:
    config: dict[str, Any] = json.loads(text_of(inputs, "/etc/kubernetes/kubelet/config.json"))
    return config
