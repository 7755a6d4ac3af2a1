"""Who gets a serving certificate: a wrong approval hands a machine's name to somebody else."""

from __future__ import annotations

import base64
from ipaddress import ip_address
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from flexlab.control_plane.cloud import compose_routes, find_flaw

NODES = {"edge1": {"10.200.0.20", "edge1"}, "edge2": {"10.200.0.21", "edge2"}}


def csr(
    *,
    user: str = "system:node:edge1",
    names: tuple[x509.GeneralName, ...] = (x509.DNSName("edge1"), x509.IPAddress(ip_address("10.200.0.20"))),
    **spec: Any,
) -> dict[str, Any]:
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
            x509.NameAttribute(NameOID.COMMON_NAME, user),
        ]
    )
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    signed = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return {
        "spec": {
            "username": "system:node:edge1",
            "groups": ["system:nodes", "system:authenticated"],
            "usages": ["digital signature", "server auth"],
            "request": base64.b64encode(signed.public_bytes(Encoding.PEM)).decode(),
            **spec,
        }
    }


def test_a_node_gets_a_certificate_over_its_own_names() -> None:
    assert find_flaw(csr(), NODES) is None


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (csr(user="system:node:edge2"), "is not the requester"),
        (csr(names=(x509.DNSName("edge2"),)), "not the node's own"),
        (csr(names=(x509.IPAddress(ip_address("10.200.0.21")),)), "not the node's own"),
        (csr(names=(x509.DNSName("edge1"), x509.RFC822Name("a@b.c"))), "not the node's own"),
        (csr(username="system:node:stranger"), "not a node of this cluster"),
        (csr(username="edge1"), "not a node of this cluster"),
        (csr(groups=["system:authenticated"]), "not in group"),
        (csr(usages=["client auth"]), "usages"),
        (csr(usages=["server auth", "client auth"]), "usages"),
    ],
)
def test_nobody_gets_a_certificate_over_anything_else(request_: dict[str, Any], reason: str) -> None:
    flaw = find_flaw(request_, NODES)
    assert flaw is not None
    assert reason in flaw


def test_a_request_without_names_or_that_cannot_be_read_is_refused() -> None:
    assert find_flaw(csr(names=()), NODES) is not None
    assert find_flaw(csr(request=base64.b64encode(b"nonsense").decode()), NODES) is not None


def test_pods_are_routed_to_the_node_that_has_their_network() -> None:
    ready = {
        "spec": {"podCIDR": "10.244.1.0/24"},
        "status": {
            "addresses": [
                {"type": "Hostname", "address": "edge1"},
                {"type": "InternalIP", "address": "10.200.0.20"},
            ]
        },
    }
    without_network = {"spec": {}, "status": ready["status"]}
    without_address: dict[str, Any] = {"spec": {"podCIDR": "10.244.2.0/24"}, "status": {}}
    assert compose_routes([ready, without_network, without_address]) == {"10.244.1.0/24": "10.200.0.20"}
