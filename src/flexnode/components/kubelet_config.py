"""What kubelet's configuration file says."""

from __future__ import annotations

import json
from typing import Any

from flexnode.components.dns import resolv_conf
from flexnode.components.joining import NodeInputs
from flexnode.components.layout import CLUSTER_CA, CONTAINERD_SOCKET, KUBELET_STATE, STATIC_PODS
from flexnode.components.reservations import EVICTION_HARD, kube_reserved, max_pods
from flexnode.model.spec import KubeletSpec, ServingCertificates, Taint


def render_config(inputs: NodeInputs) -> str:
    """JSON, which kubelet takes as well as YAML; names in order, so that the same node has the same bytes."""
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        **_access(inputs),
        **_node(inputs),
        **_resources(inputs),
        **_images(inputs.spec.kubelet),
        **_shutdown(inputs.spec.kubelet),
    }
    return json.dumps(config, indent=2, sort_keys=True) + "\n"


def _access(inputs: NodeInputs) -> dict[str, Any]:
    """Who may ask kubelet for something, and how it proves who it is."""
    return {
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": CLUSTER_CA},
        },
        "authorization": {"mode": "Webhook"},
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": 10248,
        "readOnlyPort": 0,
        "rotateCertificates": True,
        # Whether the cluster has somebody who approves them is found out before anything is composed: what is
        # still undecided here stays off, since kubelet serves nothing while it waits for a certificate.
        "serverTLSBootstrap": inputs.spec.kubelet.serving_certificates is ServingCertificates.ON,
    }


def _node(inputs: NodeInputs) -> dict[str, Any]:
    spec = inputs.spec
    settings: dict[str, Any] = {
        "cgroupDriver": "systemd",
        "clusterDomain": spec.cluster.domain,
        "containerRuntimeEndpoint": CONTAINERD_SOCKET,
        # A user who keeps swap in use has said so.
        "failSwapOn": spec.machine.host.manage_swap,
        "logging": {"verbosity": spec.kubelet.verbosity},
        "protectKernelDefaults": spec.kubelet.protect_kernel_defaults,
        "resolvConf": resolv_conf(inputs.facts),
        "staticPodPath": STATIC_PODS,
        # kubelet makes this directory at every start, by default below /usr.
        "volumePluginDir": f"{KUBELET_STATE}/volume-plugins",
    }
    if spec.cluster.dns_service_ip:
        settings["clusterDNS"] = [spec.cluster.dns_service_ip]
    if spec.identity.provider_id:
        settings["providerID"] = spec.identity.provider_id
    if spec.identity.taints:
        settings["registerWithTaints"] = [_taint(each) for each in spec.identity.taints]
    if spec.kubelet.feature_gates:
        settings["featureGates"] = dict(spec.kubelet.feature_gates)
    return settings


def _resources(inputs: NodeInputs) -> dict[str, Any]:
    kubelet, facts = inputs.spec.kubelet, inputs.facts
    pods = kubelet.max_pods if kubelet.max_pods is not None else max_pods(inputs.spec.cluster.pod_cidr)
    reserved = kubelet.kube_reserved
    settings: dict[str, Any] = {
        "enforceNodeAllocatable": ["pods"],
        "evictionHard": {**EVICTION_HARD, **(kubelet.eviction_hard or {})},
        "kubeReserved": dict(kube_reserved(facts.cpus, facts.memory) if reserved is None else reserved),
        "maxPods": pods,
    }
    if kubelet.system_reserved:
        settings["systemReserved"] = dict(kubelet.system_reserved)
    if kubelet.pod_pids_limit is not None:
        settings["podPidsLimit"] = kubelet.pod_pids_limit
    return settings


def _images(kubelet: KubeletSpec) -> dict[str, Any]:
    """Images and logs: what fills the disk."""
    settings: dict[str, Any] = {
        "containerLogMaxFiles": kubelet.container_log_max_files,
        "containerLogMaxSize": kubelet.container_log_max_size,
        "imageGCHighThresholdPercent": kubelet.image_gc_high_percent,
        "imageGCLowThresholdPercent": kubelet.image_gc_low_percent,
        "serializeImagePulls": kubelet.serialize_image_pulls,
    }
    if kubelet.max_parallel_image_pulls is not None:
        settings["maxParallelImagePulls"] = kubelet.max_parallel_image_pulls
    return settings


def _shutdown(kubelet: KubeletSpec) -> dict[str, Any]:
    return {
        "shutdownGracePeriod": kubelet.shutdown_grace_period,
        "shutdownGracePeriodCriticalPods": kubelet.shutdown_grace_period_critical_pods,
    }


def _taint(taint: Taint) -> dict[str, str]:
    value = {"value": taint.value} if taint.value else {}
    return {"key": taint.key, **value, "effect": taint.effect.value}
