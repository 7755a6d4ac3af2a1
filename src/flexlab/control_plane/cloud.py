"""What a cloud does for a cluster: `python -m flexlab.control_plane.cloud --lab FOLDER`.

It keeps the cloud's route table (pod network of a node -> its address), so that pods of different nodes meet,
and approves kubelets' serving certificates, which no controller of Kubernetes does.
"""

from __future__ import annotations

import argparse
import base64
import signal
import ssl
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
from cryptography import x509

from flexlab.model import API_PORT
from flexlab.network import BRIDGE
from flexnode.clock import Clock, SystemClock
from flexnode.errors import FlexError
from flexnode.host import Command, run
from flexnode.kube import ClientCertificateFiles, Connection, KubeClient
from flexnode.kube.approver import RENEWED, announce

INTERVAL = 1.0
"""Seconds between two looks. Neither job is in the way of a node's becoming Ready."""

SIGNER = "kubernetes.io/kubelet-serving"
CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
USAGES = {"digital signature", "key encipherment", "server auth"}


def find_flaw(request: dict[str, Any], nodes: dict[str, set[str]]) -> str | None:
    """Why a serving certificate request must not be approved, or None. `nodes`: name -> its addresses."""
    spec = request["spec"]
    user = spec["username"]
    node = user.removeprefix("system:node:")
    if node == user or node not in nodes:
        return f"{user} is not a node of this cluster"
    if "system:nodes" not in spec.get("groups", []):
        return f"{user} is not in group system:nodes"
    if not set(spec["usages"]) <= USAGES or "server auth" not in spec["usages"]:
        return f"usages {sorted(spec['usages'])}"
    try:
        csr = x509.load_pem_x509_csr(base64.b64decode(spec["request"]))
        names = csr.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound) as error:
        return f"the request cannot be read: {error}"
    subject = [attribute.value for attribute in csr.subject]
    if sorted(str(value) for value in subject) != sorted([user, "system:nodes"]):
        return f"subject {csr.subject.rfc4514_string()} is not the requester {user}"
    wanted = {str(value) for value in names.get_values_for_type(x509.IPAddress)}
    wanted |= set(names.get_values_for_type(x509.DNSName))
    foreign = wanted - nodes[node]
    if not wanted or foreign or len(wanted) != len(list(names)):
        return f"names {sorted(foreign) or 'none'} are not the node's own"
    return None


def list_addresses(node: dict[str, Any]) -> set[str]:
    return {entry["address"] for entry in node.get("status", {}).get("addresses", [])}


def compose_routes(nodes: list[dict[str, Any]]) -> dict[str, str]:
    """Pod network -> address of the node that has it."""
    routes = {}
    for node in nodes:
        network = node.get("spec", {}).get("podCIDR")
        internal = [
            entry["address"]
            for entry in node.get("status", {}).get("addresses", [])
            if entry["type"] == "InternalIP"
        ]
        if network and internal:
            routes[network] = internal[0]
    return routes


def set_routes(wanted: dict[str, str], present: dict[str, str]) -> None:
    """Make the namespace's routes to pods those that are wanted."""
    for network in present.keys() - wanted.keys():
        _run_ip("route", "delete", network)
    for network, via in wanted.items():
        if present.get(network) != via:
            _run_ip("route", "replace", network, "via", via, "dev", BRIDGE)


def approve_pending(api: httpx.Client, nodes: list[dict[str, Any]]) -> None:
    """Approve the serving certificate requests that are in order; say why the others are not."""
    known = {node["metadata"]["name"]: list_addresses(node) for node in nodes}
    listed = api.get(CSRS, params={"fieldSelector": f"spec.signerName={SIGNER}"}).raise_for_status().json()
    for request in listed["items"]:
        if request.get("status", {}).get("conditions"):
            continue
        name = request["metadata"]["name"]
        flaw = find_flaw(request, known)
        if flaw:
            sys.stderr.write(f"{name}: not approved: {flaw}\n")
            continue
        condition = {
            "type": "Approved",
            "status": "True",
            "reason": "FlexlabApproved",
            "message": "requester, subject and addresses are those of the node",
            "lastUpdateTime": SystemClock().now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        request.setdefault("status", {})["conditions"] = [condition]
        api.put(f"{CSRS}/{name}/approval", json=request).raise_for_status()
        sys.stderr.write(f"{name}: approved for {request['spec']['username']}\n")


class Word:
    """That requests are approved here, said to nodes as the product's own approver says it."""

    def __init__(self, pki: Path, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        credential = ClientCertificateFiles(
            certificate=pki / "cloud-controller.crt", key=pki / "cloud-controller.key"
        )
        ca = (pki / "ca.crt").read_text()
        server = f"https://localhost:{API_PORT}"
        self._api = KubeClient(Connection(server=server, ca=ca, credential=credential), self._clock)
        self._kept = float("-inf")

    def __enter__(self) -> Word:
        return self

    def __exit__(self, *_: object) -> None:
        self._api.close()

    def keep(self) -> None:
        """Say it, and again in time."""
        now = self._clock.monotonic()
        if now - self._kept >= RENEWED.total_seconds():
            announce(self._api, "the laboratory's cloud controller", self._clock)
            self._kept = now


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lab", required=True, type=Path)
    pki = parser.parse_args().lab / "pki"
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    tls.load_cert_chain(pki / "cloud-controller.crt", pki / "cloud-controller.key")
    present: dict[str, str] = {}
    word = Word(pki)
    with httpx.Client(base_url=f"https://localhost:{API_PORT}", verify=tls, trust_env=False) as api, word:
        while not stopped.wait(INTERVAL):
            try:
                nodes = api.get("/api/v1/nodes", params={"resourceVersion": "0"}).raise_for_status().json()
                wanted = compose_routes(nodes["items"])
                set_routes(wanted, present)
                present = wanted
                approve_pending(api, nodes["items"])
                word.keep()
            except (
                httpx.HTTPError,
                FlexError,
                ValueError,
            ) as error:  # the API server may be down: look again
                sys.stderr.write(f"cloud: {error}\n")
            sys.stderr.flush()


def _run_ip(*arguments: str) -> None:
    run(Command(argv=("ip", *arguments), timeout=10))


if __name__ == "__main__":
    main()
