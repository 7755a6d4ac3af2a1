"""The `cluster` verbs against a real API server: what they apply it takes, and what they make it honours."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from flexlab import control_plane, process
from flexlab.control_plane.credentials import API_URL
from flexlab.model import CLUSTER_DNS, POD_NETWORK, SERVICE_NETWORK
from flexlab.testing import LabUnderTest
from flexnode.config import load_config

pytestmark = pytest.mark.vm

NODES = {"verb1": "10.200.0.201", "verb2": "10.200.0.202"}

DISCOVER = """
import sys
from flexnode.clock import SystemClock
from flexnode.kube import Connection
from flexnode.kube.trust import Proof, discover_authority
from flexnode.secret import Secret
token = sys.stdin.read().strip()
proof = Proof(token=Secret(token) if token else None, pins=tuple(sys.argv[2:]))
print(discover_authority(Connection(server=sys.argv[1]), proof, SystemClock()).ca, end="")
"""

PIN = """
import sys
from flexnode.kube.pem import parse_certificates
from flexnode.kube.x509 import parse_certificate
(der,) = parse_certificates(sys.stdin.read())
print(parse_certificate(der).public_key_hash, end="")
"""


def python(lab: LabUnderTest, script: str, *words: str, stdin: str = "", code: int = 0) -> str:
    """Run a script where the API server can be reached: in the lab's own network."""
    argv = (sys.executable, "-c", script, *words)
    place = lab.lab.require_place()
    return process.run(place, argv, stdin=stdin.encode(), timeout=120, expect=(code,)).text


def cluster(lab: LabUnderTest, *words: str, code: int = 0, stdin: str = "") -> str:
    """`aks-flex-node cluster …` as the lab's administrator; its standard output."""
    program = "from flexnode.cli import main; main()"
    options = ("--kubeconfig", str(lab.lab.admin_kubeconfig))
    return python(lab, program, "cluster", *words, *options, code=code, stdin=stdin)


def apply(lab: LabUnderTest, document: dict[str, Any], *words: str) -> None:
    lab.kubectl("create", "-f", "-", *words, stdin=json.dumps(document).encode())


@pytest.fixture
def nodes(session_lab: LabUnderTest) -> Iterator[dict[str, str]]:
    """Two Node objects with addresses; no machine stands behind them."""
    for name, address in NODES.items():
        apply(session_lab, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        addresses = [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]
        patch = json.dumps({"status": {"addresses": addresses}})
        session_lab.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", patch)
    yield NODES
    session_lab.kubectl("delete", "node", *NODES, "--ignore-not-found")


@pytest.fixture
def no_approver(session_lab: LabUnderTest) -> Iterator[None]:
    """The lab's own approver would be quicker than ours."""
    lab = session_lab.lab
    control_plane.stop(lab, ("cloud-controller",))
    yield
    control_plane.start(lab, session_lab.parts, session_lab.clock, ("cloud-controller",))


def request_of(node: str, *names: x509.GeneralName) -> dict[str, Any]:
    """A kubelet's request for its serving certificate."""
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
            x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{node}"),
        ]
    )
    signed = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(subject)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    )
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": f"serving-{node}"},
        "spec": {
            "signerName": "kubernetes.io/kubelet-serving",
            "usages": ["digital signature", "server auth"],
            "request": base64.b64encode(signed.public_bytes(Encoding.PEM)).decode(),
        },
    }


def as_node(name: str) -> tuple[str, ...]:
    return (f"--as=system:node:{name}", "--as-group=system:nodes", "--as-group=system:authenticated")


def test_a_real_cluster_takes_every_object_and_a_second_run_changes_none(session_lab: LabUnderTest) -> None:
    cluster(session_lab, "setup")
    again = json.loads(cluster(session_lab, "setup", "--output", "json"))
    assert {each["result"] for each in again["objects"]} == {"unchanged"}
    manifests = cluster(session_lab, "setup", "--dry-run", "--output", "json")
    # The server fills in defaults, and what it filled in belongs to whoever applied first.
    apply = ("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-")
    session_lab.kubectl(*apply, stdin=manifests.encode())


def test_a_joining_machine_may_see_nodes_and_facts_and_nothing_else(session_lab: LabUnderTest) -> None:
    cluster(session_lab, "setup")
    groups = ("system:bootstrappers:flexnode", "system:authenticated")
    joining = ("--as=system:bootstrap:abcdef", *(f"--as-group={group}" for group in groups))

    def may(*words: str) -> bool:
        # Warnings follow on standard error.
        return session_lab.kubectl("auth", "can-i", *words, *joining, expect=(0, 1)).startswith("yes")

    assert may("get", "nodes")
    assert may("get", "configmaps/kubeadm-config", "-n", "kube-system")
    assert may("create", "certificatesigningrequests")
    assert not may("list", "nodes")
    assert not may("delete", "nodes")
    assert not may("get", "secrets", "-n", "kube-system")
    assert not may("get", "configmaps/anything", "-n", "kube-system")


def test_a_node_may_delete_itself_and_no_other(session_lab: LabUnderTest, nodes: dict[str, str]) -> None:
    cluster(session_lab, "setup")
    refused = session_lab.kubectl("delete", "node", "verb2", "--wait=false", *as_node("verb1"), expect=(1,))
    assert "verb2" in refused
    session_lab.kubectl("delete", "node", "verb1", "--wait=false", *as_node("verb1"))
    assert "verb2" in session_lab.kubectl("get", "nodes", "-o", "name")


def test_a_token_proves_the_ca_and_ends_when_it_is_deleted(session_lab: LabUnderTest) -> None:
    """The cluster's own bootstrap signer signs; what reads its signature here has only our word for it."""
    ca = (session_lab.lab.pki / "ca.crt").read_text()
    pin = python(session_lab, PIN, stdin=ca)
    token = cluster(session_lab, "token", "--ttl", "1h", "--description", "a test").strip()
    assert token[:6] in cluster(session_lab, "token", "--list")
    assert python(session_lab, DISCOVER, API_URL, stdin=token).strip() == ca.strip()
    assert python(session_lab, DISCOVER, API_URL, pin, stdin=token).strip() == ca.strip()
    assert python(session_lab, DISCOVER, API_URL, pin).strip() == ca.strip()
    forged = f"{token[:7]}{'0' * 16}"
    python(session_lab, DISCOVER, API_URL, stdin=forged, code=1)
    cluster(session_lab, "token", "--delete", token[:6])
    assert token[:6] not in cluster(session_lab, "token", "--list")


def test_a_ready_made_configuration_says_what_the_cluster_is(
    session_lab: LabUnderTest, tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    path.touch(0o600)
    path.write_text(cluster(session_lab, "node-config", "--token", "new"))
    spec = load_config(path, image=tmp_path / "none").spec
    assert spec.cluster.server == API_URL
    assert spec.cluster.ca.strip() == (session_lab.lab.pki / "ca.crt").read_text().strip()
    assert spec.cluster.service_cidr == str(SERVICE_NETWORK)
    assert spec.cluster.pod_cidr == str(POD_NETWORK)
    assert spec.cluster.dns_service_ip == str(CLUSTER_DNS)
    assert spec.machine.versions.kubernetes == ".".join(session_lab.lab.spec.kubernetes.split(".")[:2])
    assert spec.credentials.bootstrap_token is not None


def test_serving_certificates_are_issued_for_a_node_s_own_names_only(
    session_lab: LabUnderTest, nodes: dict[str, str], no_approver: None
) -> None:
    good = request_of("verb1", x509.DNSName("verb1"), x509.IPAddress(ip_address(nodes["verb1"])))
    greedy = request_of("verb2", x509.DNSName("verb2"), x509.IPAddress(ip_address(nodes["verb1"])))
    try:
        apply(session_lab, good, *as_node("verb1"))
        apply(session_lab, greedy, *as_node("verb2"))
        told = json.loads(cluster(session_lab, "approve", "--output", "json", code=3))
        assert [each["request"] for each in told["approved"]] == ["serving-verb1"]
        assert [each["request"] for each in told["refused"]] == ["serving-verb2"]
        issued = "--for=jsonpath={.status.certificate}"
        session_lab.kubectl("wait", issued, "csr/serving-verb1", "--timeout=60s")
        state = session_lab.kubectl("get", "csr", "serving-verb2", "-o", "jsonpath={.status}")
        assert state.strip() in ("", "{}")
    finally:
        session_lab.kubectl("delete", "csr", "serving-verb1", "serving-verb2", "--ignore-not-found")


def test_an_approver_that_watches_sees_a_request_that_comes_later(
    session_lab: LabUnderTest, nodes: dict[str, str], no_approver: None
) -> None:
    good = request_of("verb1", x509.DNSName("verb1"))
    lab = session_lab.lab
    kubectl = (
        str(session_lab.parts.binary("kubectl")),
        f"--kubeconfig={lab.admin_kubeconfig}",
        f"--cache-dir={lab.control_plane / 'kubectl-cache'}",
    )
    create = " ".join((*kubectl, "create", "-f", "-", *as_node("verb1")))
    script = f"(sleep 3; echo '{json.dumps(good)}' | {create}) >/dev/null 2>&1 & exec \"$@\""
    later = ("sh", "-c", script, "sh")
    program = (sys.executable, "-c", "from flexnode.cli import main; main()", "cluster", "approve", "--watch")
    options = ("--timeout", "15s", "--kubeconfig", str(lab.admin_kubeconfig))
    try:
        told = process.run(lab.require_place(), (*later, *program, *options), timeout=60).text
        assert "approved serving-verb1 of system:node:verb1" in told
    finally:
        session_lab.kubectl("delete", "csr", "serving-verb1", "--ignore-not-found")
