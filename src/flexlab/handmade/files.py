"""Every file that makes a stock machine a node, as values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from flexlab.control_plane import read_bootstrap_token
from flexlab.control_plane.credentials import API_URL, encode
from flexlab.lab import Lab
from flexlab.model import CLUSTER_DNS, DOMAIN, REGISTRY_PORT, NodeSpec
from flexlab.parts import Parts

BINARIES = ("containerd", "ctr", "containerd-shim-runc-v2", "runc", "kubelet", "kubeadm")
CNI_PLUGINS = ("bridge", "host-local", "loopback", "portmap")
REGISTRY = f"registry.{DOMAIN}:{REGISTRY_PORT}"
SOCKET = "unix:///run/containerd/containerd.sock"
BOOTSTRAP_KUBECONFIG = "/etc/kubernetes/bootstrap-kubelet.conf"

SYSCTLS = {
    "net.ipv4.ip_forward": 1,
    "net.bridge.bridge-nf-call-iptables": 1,
    "net.bridge.bridge-nf-call-ip6tables": 1,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class File:
    """A file on the machine; its content is data, or a file of this machine."""

    path: PurePosixPath
    content: bytes | Path
    mode: int = 0o644


def compose_files(lab: Lab, node: NodeSpec, parts: Parts) -> tuple[File, ...]:
    """All of them, the bootstrap kubeconfig too."""
    binaries = [
        File(path=PurePosixPath("/usr/local/bin", name), content=parts.binary(name), mode=0o755)
        for name in BINARIES
    ]
    plugins = [
        File(path=PurePosixPath("/opt/cni/bin", name), content=parts.binary(name), mode=0o755)
        for name in CNI_PLUGINS
    ]
    authority = lab.pki / "ca.crt"
    texts = {
        "/etc/containerd/config.toml": render_containerd_config(parts.image("pause").reference),
        "/etc/containerd/cni.template": CNI_TEMPLATE,
        f"/etc/containerd/certs.d/{REGISTRY}/hosts.toml": REGISTRY_HOSTS,
        "/etc/modules-load.d/node.conf": "overlay\nbr_netfilter\n",
        "/etc/sysctl.d/90-node.conf": "".join(f"{key} = {value}\n" for key, value in SYSCTLS.items()),
        "/etc/systemd/system/containerd.service": CONTAINERD_UNIT,
        "/etc/systemd/system/kubelet.service": render_kubelet_unit(node),
        "/var/lib/kubelet/config.json": render_kubelet_config(),
    }
    return (
        *binaries,
        *plugins,
        *(File(path=PurePosixPath(path), content=text.encode()) for path, text in texts.items()),
        File(path=PurePosixPath("/etc/kubernetes/pki/ca.crt"), content=authority),
        File(
            path=PurePosixPath(BOOTSTRAP_KUBECONFIG),
            content=render_bootstrap_kubeconfig(lab).encode(),
            mode=0o600,
        ),
    )


def render_containerd_config(pause: str) -> str:
    return f"""\
version = 3

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '{pause}'

[plugins.'io.containerd.cri.v1.images'.registry]
config_path = '/etc/containerd/certs.d'

[plugins.'io.containerd.cri.v1.runtime'.cni]
conf_template = '/etc/containerd/cni.template'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
BinaryName = '/usr/local/bin/runc'
SystemdCgroup = true
"""


def render_kubelet_unit(node: NodeSpec) -> str:
    return f"""\
[Unit]
Description=kubelet
After=containerd.service network-online.target
Wants=containerd.service network-online.target

[Service]
ExecStart=/usr/local/bin/kubelet --config=/var/lib/kubelet/config.json --node-ip={node.address} \\
  --bootstrap-kubeconfig={BOOTSTRAP_KUBECONFIG} --kubeconfig=/etc/kubernetes/kubelet.conf
Restart=always
RestartSec=2
KillMode=process

[Install]
WantedBy=multi-user.target
"""


def render_kubelet_config() -> str:
    return json.dumps(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
            },
            "authorization": {"mode": "Webhook"},
            "cgroupDriver": "systemd",
            "clusterDNS": [str(CLUSTER_DNS)],
            "clusterDomain": "cluster.local",
            "containerRuntimeEndpoint": SOCKET,
            "resolvConf": "/run/systemd/resolve/resolv.conf",
            "rotateCertificates": True,
            "serverTLSBootstrap": True,
        },
        indent=2,
    )


def render_bootstrap_kubeconfig(lab: Lab, *, token: bool = True) -> str:
    """With the token it is kubelet's bootstrap kubeconfig, without it kubeadm's discovery file."""
    cluster = {
        "server": API_URL,
        "certificate-authority-data": encode((lab.pki / "ca.crt").read_bytes()),
    }
    user = {"token": read_bootstrap_token(lab).reveal()} if token else {}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lab", "cluster": cluster}],
            "users": [{"name": "bootstrap", "user": user}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "bootstrap"}}],
            "current-context": "lab",
        }
    )


REGISTRY_HOSTS = f"""\
server = 'https://{REGISTRY}'

[host.'https://{REGISTRY}']
ca = '/etc/kubernetes/pki/ca.crt'
"""

CONTAINERD_UNIT = """\
[Unit]
Description=containerd
After=network.target local-fs.target

[Service]
ExecStart=/usr/local/bin/containerd
Type=notify
Delegate=yes
KillMode=process
Restart=always
RestartSec=2
LimitNOFILE=infinity
TasksMax=infinity
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
"""

# kubelet hands over the pod network that the cluster allocated; containerd fills it in.
CNI_TEMPLATE = """\
{
  "cniVersion": "1.0.0",
  "name": "lab",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "cni0",
      "isGateway": true,
      "hairpinMode": true,
      "ipam": {
        "type": "host-local",
        "ranges": [{{range $i, $range := .PodCIDRRanges}}{{if $i}}, {{end}}[{"subnet": "{{$range}}"}]{{end}}],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
"""
