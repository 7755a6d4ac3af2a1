"""Where things lie on a node, and what its units are called: the names that several components share."""

from __future__ import annotations

PROGRAMS = "/usr/local/bin"
UNITS = "/etc/systemd/system"

CONTAINERD = "containerd.service"
KUBELET = "kubelet.service"

CONTAINERD_CONFIG = "/etc/containerd"
CONTAINERD_STATE = "/var/lib/containerd"
CONTAINERD_SOCKET = "unix:///run/containerd/containerd.sock"
REGISTRIES = f"{CONTAINERD_CONFIG}/certs.d"

CNI_PROGRAMS = "/opt/cni/bin"
CNI_CONFIG = "/etc/cni/net.d"
CNI_STATE = "/var/lib/cni"
CNI_TEMPLATE = f"{CONTAINERD_CONFIG}/cni.template"
BRIDGE = "cni0"

KUBERNETES = "/etc/kubernetes"
STATIC_PODS = f"{KUBERNETES}/manifests"
CLUSTER_CA = f"{KUBERNETES}/pki/ca.crt"
BOOTSTRAP_KUBECONFIG = f"{KUBERNETES}/bootstrap-kubelet.conf"
KUBECONFIG = f"{KUBERNETES}/kubelet.conf"  # kubelet writes it once it has a certificate

KUBELET_CONFIG = f"{KUBERNETES}/kubelet"
KUBELET_STATE = "/var/lib/kubelet"
KUBELET_CERTIFICATE = f"{KUBELET_STATE}/pki/kubelet-client-current.pem"


def drop_in(unit: str, name: str) -> str:
    """Where a drop-in of a unit lies; its directory belongs to the component that has the unit."""
    return f"{UNITS}/{unit}.d/{name}"
