"""Objects of a cluster, as its API server sends them."""

from __future__ import annotations

import base64
from ipaddress import ip_address
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

Object = dict[str, Any]

NODES = "/api/v1/nodes"
CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
KEY = ec.generate_private_key(ec.SECP256R1())


def node(name: str = "edge1", address: str = "10.200.0.20", **parts: Any) -> Object:
    """A node that is Ready, as the API shows it."""
    document: Object = {
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"kubernetes.io/hostname": name},
            "annotations": None,
        },
        "spec": {"podCIDR": "10.244.1.0/24", "podCIDRs": ["10.244.1.0/24"]},
        "status": {
            "addresses": [
                {"type": "InternalIP", "address": address},
                {"type": "Hostname", "address": name},
            ],
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "KubeletReady",
                    "message": "kubelet is posting ready status",
                    "lastHeartbeatTime": "2026-01-01T00:05:00Z",
                    "lastTransitionTime": "2026-01-01T00:01:00Z",
                }
            ],
            "nodeInfo": {
                "kubeletVersion": "v1.34.4",
                "systemUUID": "0a0b0c0d-0000-0000-0000-000000000001",
                "bootID": "boot",
            },
        },
    }
    return {**document, **parts}


def pod(name: str = "web-1", namespace: str = "default", **changes: Any) -> Object:
    """A running pod of a ReplicaSet on edge1."""
    owner = changes.pop("owner", "ReplicaSet")
    owners = [{"kind": owner, "name": "web", "uid": "o", "controller": True}] if owner else None
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": changes.pop("uid", f"uid-{name}"),
            "ownerReferences": owners,
            "annotations": changes.pop("annotations", {}),
            **changes.pop("metadata", {}),
        },
        "spec": {
            "nodeName": changes.pop("node", "edge1"),
            "volumes": changes.pop("volumes", []),
            "terminationGracePeriodSeconds": 30,
        },
        "status": {"phase": changes.pop("phase", "Running")},
    }


def pod_path(name: str = "web-1", namespace: str = "default") -> str:
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


def default_names(name: str = "edge1", address: str = "10.200.0.20") -> tuple[x509.GeneralName, ...]:
    return (x509.DNSName(name), x509.IPAddress(ip_address(address)))


def csr(
    name: str = "csr-1",
    *,
    node: str = "edge1",
    subject: tuple[str, ...] | None = None,
    organizations: tuple[str, ...] = ("system:nodes",),
    names: tuple[x509.GeneralName, ...] | None = None,
    conditions: tuple[str, ...] = (),
    certificate: str = "",
    **spec: Any,
) -> Object:
    """A request of a kubelet for its serving certificate, in order unless changed."""
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    attributes += [
        x509.NameAttribute(NameOID.COMMON_NAME, each) for each in subject or (f"system:node:{node}",)
    ]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(attributes))
    wanted = default_names(node) if names is None else names
    if wanted:
        builder = builder.add_extension(x509.SubjectAlternativeName(wanted), critical=False)
    signed = builder.sign(KEY, hashes.SHA256()).public_bytes(Encoding.PEM)
    status: Object = {"conditions": [{"type": each, "status": "True", "reason": "R"} for each in conditions]}
    if certificate:
        status["certificate"] = certificate
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {
            "signerName": "kubernetes.io/kubelet-serving",
            "username": f"system:node:{node}",
            "groups": ["system:nodes", "system:authenticated"],
            "usages": ["digital signature", "server auth"],
            "request": base64.b64encode(signed).decode(),
            **spec,
        },
        "status": status,
    }
