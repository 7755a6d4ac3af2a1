"""What a fresh cluster needs before a node can join, and what runs on every node."""

from __future__ import annotations

import json
from typing import Any

from flexlab import process
from flexlab.control_plane.credentials import API_URL, read_bootstrap_token, write_private
from flexlab.control_plane.kubectl import run_kubectl
from flexlab.lab import Lab
from flexlab.model import API_PORT, API_SERVER, POD_NETWORK, SERVICE_NETWORK
from flexlab.parts import Parts

Object = dict[str, Any]

KUBE_PROXY = "kube-proxy"
CLUSTER_CA = "/etc/kubernetes/pki/ca.crt"
"""Where `kubeadm join` puts it on a node."""

NODE_GROUP = "system:bootstrappers:kubeadm:default-node-token"


def apply_objects(lab: Lab, parts: Parts) -> None:
    """Bring the cluster's objects up to date; safe to repeat.

    kubeadm's own phases write what it expects of a cluster (cluster-info, its configuration, RBAC for
    bootstrap tokens), so that a `kubeadm join` meets what it would meet anywhere.
    """
    config = lab.control_plane / "kubeadm.yaml"
    write_private(config, _render_kubeadm_config(lab, parts))
    run_kubectl(lab, parts, "apply", "--server-side", "-f", "-", stdin=_render(compose_objects(parts)))
    for phase in (("upload-config", "kubeadm"), ("upload-config", "kubelet"), ("bootstrap-token",)):
        process.run(
            lab.require_place(),
            (
                str(parts.binary("kubeadm")),
                "init",
                "phase",
                *phase,
                f"--config={config}",
                f"--kubeconfig={lab.admin_kubeconfig}",
            ),
        )


def compose_objects(parts: Parts) -> list[Object]:
    """The objects that kubeadm's phases do not write."""
    return [*_kube_proxy(parts.image(KUBE_PROXY).reference)]


def _render_kubeadm_config(lab: Lab, parts: Parts) -> bytes:
    token = {
        "token": read_bootstrap_token(lab).reveal(),
        "ttl": "0s",  # the lab's token lives as long as the lab
        "usages": ["signing", "authentication"],
        "groups": [NODE_GROUP],
    }
    cluster = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "ClusterConfiguration",
        "clusterName": lab.name,
        "kubernetesVersion": f"v{parts.kubernetes}",
        "controlPlaneEndpoint": f"{API_SERVER}:{API_PORT}",
        "networking": {"podSubnet": str(POD_NETWORK), "serviceSubnet": str(SERVICE_NETWORK)},
        "certificatesDir": str(lab.pki),
    }
    init = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "InitConfiguration",
        "bootstrapTokens": [token],
        "localAPIEndpoint": {"advertiseAddress": str(API_SERVER), "bindPort": API_PORT},
        # Named, so that kubeadm looks for neither on the machine that the lab runs on.
        "nodeRegistration": {"name": "lab", "criSocket": "unix:///run/containerd/containerd.sock"},
    }
    kubelet = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        # Else kubeadm tells every node to look for the CA where the lab keeps its own.
        "authentication": {"x509": {"clientCAFile": CLUSTER_CA}},
    }
    return "\n---\n".join(json.dumps(document) for document in (init, cluster, kubelet)).encode()


def _kube_proxy(image: str) -> list[Object]:
    labels = {"k8s-app": KUBE_PROXY}
    metadata = {"name": KUBE_PROXY, "namespace": "kube-system"}
    config = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": str(POD_NETWORK),
        "clientConnection": {"kubeconfig": "/config/kubeconfig"},
        # The node's sysctls belong to whoever manages the node.
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpCloseWaitTimeout": "0s", "tcpEstablishedTimeout": "0s"},
    }
    account = "/var/run/secrets/kubernetes.io/serviceaccount"
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        # Not the Service address: it is kube-proxy that makes that one work.
        "clusters": [
            {"name": "lab", "cluster": {"server": API_URL, "certificate-authority": f"{account}/ca.crt"}}
        ],
        "users": [{"name": "proxy", "user": {"tokenFile": f"{account}/token"}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "proxy"}}],
        "current-context": "lab",
    }
    container = {
        "name": KUBE_PROXY,
        "image": image,
        "command": [
            "/usr/local/bin/kube-proxy",
            "--config=/config/config.json",
            "--hostname-override=$(NODE_NAME)",
        ],
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "securityContext": {"privileged": True},
        "volumeMounts": [
            {"name": "config", "mountPath": "/config"},
            {"name": "modules", "mountPath": "/lib/modules", "readOnly": True},
        ],
    }
    pod = {
        "serviceAccountName": KUBE_PROXY,
        "hostNetwork": True,
        "priorityClassName": "system-node-critical",
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": [
            {"name": "config", "configMap": {"name": KUBE_PROXY}},
            {"name": "modules", "hostPath": {"path": "/lib/modules"}},
        ],
    }
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "flexlab:kube-proxy"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "system:node-proxier",
            },
            "subjects": [{"kind": "ServiceAccount", "name": KUBE_PROXY, "namespace": "kube-system"}],
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {"config.json": json.dumps(config), "kubeconfig": json.dumps(kubeconfig)},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": metadata,
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
    ]


def _render(objects: list[Object]) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()
