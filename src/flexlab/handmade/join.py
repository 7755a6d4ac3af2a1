"""Make a stock machine a node by hand, in the two ways that people do it."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path, PurePosixPath

from flexlab import machine
from flexlab.control_plane import read_bootstrap_token, run_kubectl
from flexlab.handmade.files import (
    BOOTSTRAP_KUBECONFIG,
    SOCKET,
    File,
    compose_files,
    render_bootstrap_kubeconfig,
)
from flexlab.lab import Lab
from flexlab.model import NodeSpec
from flexlab.parts import Parts

DISCOVERY = "/etc/kubernetes/discovery.conf"
KUBEADM_CONFIG = "/etc/kubernetes/join.json"

PREPARE = """
set -e
systemctl daemon-reload
systemctl restart systemd-modules-load systemd-sysctl
systemctl enable --quiet --now containerd
for image in /var/lib/images/*.tar; do ctr --namespace k8s.io images import "$image" >/dev/null; done
"""


def install(lab: Lab, node: NodeSpec, parts: Parts) -> None:
    """Lay every file onto the machine, start containerd and import the images: all but kubelet's start."""
    images = [
        File(path=PurePosixPath("/var/lib/images") / f"{index}.tar", content=image.path)
        for index, image in enumerate(parts.images)
    ]
    archive = render_tar((*compose_files(lab, node, parts), *images))
    machine.run(lab, node, ("tar", "-C", "/", "-x", "--no-same-owner"), stdin=archive, timeout=300)
    machine.run(lab, node, ("sh", "-c", PREPARE), timeout=300)


def start_node_services(lab: Lab, node: NodeSpec, *, now: bool) -> None:
    """Enable kubelet's unit; with `now` start it too, otherwise it starts at the next boot."""
    words = ("--now",) if now else ()
    machine.run(lab, node, ("systemctl", "enable", "--quiet", *words, "kubelet"))


def kubeadm_join(lab: Lab, node: NodeSpec) -> None:
    """`kubeadm join` with a discovery file, on a machine that `install` prepared."""
    config = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "JoinConfiguration",
        "discovery": {
            "file": {"kubeConfigPath": DISCOVERY},
            "tlsBootstrapToken": read_bootstrap_token(lab).reveal(),
        },
        "nodeRegistration": {
            "criSocket": SOCKET,
            "name": node.name,
            "kubeletExtraArgs": [{"name": "node-ip", "value": str(node.address)}],
        },
    }
    files = (
        File(
            path=PurePosixPath(DISCOVERY),
            content=render_bootstrap_kubeconfig(lab, token=False).encode(),
            mode=0o600,
        ),
        File(path=PurePosixPath(KUBEADM_CONFIG), content=json.dumps(config).encode(), mode=0o600),
        File(path=PurePosixPath("/etc/systemd/system/kubelet.service"), content=KUBEADM_UNIT.encode()),
    )
    # What kubeadm writes itself must not be there yet.
    script = (
        f"set -e; tar -C / -x --no-same-owner; rm -f {BOOTSTRAP_KUBECONFIG} /etc/kubernetes/pki/ca.crt;"
        " systemctl daemon-reload; systemctl enable --quiet kubelet;"
        f" kubeadm join --config {KUBEADM_CONFIG}"
    )
    machine.run(lab, node, ("sh", "-c", script), stdin=render_tar(files), timeout=300)


def wait_until_ready(lab: Lab, node: NodeSpec, parts: Parts, *, timeout: float = 180) -> None:
    """Wait until the cluster says that the node is Ready; driven by events, no polling."""
    limit = f"--timeout={timeout:g}s"
    for condition in ("create", "condition=Ready"):
        run_kubectl(
            lab, parts, "wait", f"--for={condition}", f"node/{node.name}", limit, timeout=timeout + 10
        )


def render_tar(files: tuple[File, ...]) -> bytes:
    """The files as a tar archive."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for file in files:
            content = file.content.read_bytes() if isinstance(file.content, Path) else file.content
            entry = tarfile.TarInfo(str(file.path).lstrip("/"))
            entry.size, entry.mode = len(content), file.mode
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


KUBEADM_UNIT = """\
[Unit]
Description=kubelet
After=containerd.service
Wants=containerd.service

[Service]
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStart=/usr/local/bin/kubelet --config=/var/lib/kubelet/config.yaml \\
  --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf \\
  $KUBELET_KUBEADM_ARGS
Restart=always
RestartSec=2
KillMode=process

[Install]
WantedBy=multi-user.target
"""
