"""The processes of the control plane, as values."""

from __future__ import annotations

import sys
from pathlib import Path

from flexlab.control_plane.credentials import CONTROLLER_MANAGER, SCHEDULER, kubeconfig_path
from flexlab.lab import Lab
from flexlab.model import API_PORT, API_SERVER, POD_NETWORK, SERVICE_NETWORK
from flexlab.parts import Parts
from flexlab.process import Service

ETCD = "http://127.0.0.1:2379"  # inside the lab's own network, where nobody else lives


def compose_services(lab: Lab, parts: Parts) -> tuple[Service, ...]:
    """In the order in which they start."""
    flags = {
        "etcd": _etcd(lab),
        "kube-apiserver": _api_server(lab),
        "kube-controller-manager": _controller_manager(lab),
        "kube-scheduler": _scheduler(lab),
    }
    services = [
        Service(name=name, argv=(str(parts.binary(name)), *arguments), log=lab.log(name))
        for name, arguments in flags.items()
    ]
    cloud = Service(
        name="cloud-controller",
        argv=(sys.executable, "-m", "flexlab.control_plane.cloud", "--lab", str(lab.folder)),
        log=lab.log("cloud-controller"),
    )
    return (*services, cloud)


def _etcd(lab: Lab) -> tuple[str, ...]:
    return (
        f"--data-dir={lab.control_plane / 'etcd'}",
        f"--listen-client-urls={ETCD}",
        f"--advertise-client-urls={ETCD}",
        "--listen-peer-urls=http://127.0.0.1:2380",
        # The cluster is thrown away with the lab; what a SIGKILL leaves in the page cache is still there.
        "--unsafe-no-fsync",
        "--logger=zap",
        "--log-level=warn",
    )


def _api_server(lab: Lab) -> tuple[str, ...]:
    return (
        f"--etcd-servers={ETCD}",
        f"--advertise-address={API_SERVER}",
        f"--secure-port={API_PORT}",
        f"--tls-cert-file={lab.pki / 'api-server.crt'}",
        f"--tls-private-key-file={lab.pki / 'api-server.key'}",
        f"--client-ca-file={lab.pki / 'ca.crt'}",
        f"--kubelet-client-certificate={lab.pki / 'kubelet-client.crt'}",
        f"--kubelet-client-key={lab.pki / 'kubelet-client.key'}",
        f"--kubelet-certificate-authority={lab.pki / 'ca.crt'}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--service-account-key-file={lab.pki / 'service-accounts.pub'}",
        f"--service-account-signing-key-file={lab.pki / 'service-accounts.key'}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-cluster-ip-range={SERVICE_NETWORK}",
        "--authorization-mode=Node,RBAC",
        "--enable-bootstrap-token-auth",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged",
    )


def _controller_manager(lab: Lab) -> tuple[str, ...]:
    kubeconfig = kubeconfig_path(lab, CONTROLLER_MANAGER)
    return (
        *_client(kubeconfig),
        f"--cluster-signing-cert-file={lab.pki / 'ca.crt'}",
        f"--cluster-signing-key-file={lab.pki / 'ca.key'}",
        f"--root-ca-file={lab.pki / 'ca.crt'}",
        f"--service-account-private-key-file={lab.pki / 'service-accounts.key'}",
        "--use-service-account-credentials",
        "--allocate-node-cidrs",
        f"--cluster-cidr={POD_NETWORK}",
        f"--service-cluster-ip-range={SERVICE_NETWORK}",
        "--controllers=*,bootstrapsigner,tokencleaner",
    )


def _scheduler(lab: Lab) -> tuple[str, ...]:
    return _client(kubeconfig_path(lab, SCHEDULER))


def _client(kubeconfig: Path) -> tuple[str, ...]:
    return (
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",  # there is one of each: no lease to wait for after a restart
    )
