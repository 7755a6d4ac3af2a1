"""The configuration of a node of the lab: what the cluster says of itself, and where the lab's files are."""

from __future__ import annotations

from typing import Any

from flexlab.model import ARTIFACTS_PORT, CLUSTER_DNS, DOMAIN, REGISTRY_PORT

OVERLAY = "/etc/aks-flex-node/overlay.json"
"""Where the catalog of what the lab builds lies on a machine."""


def compose_config(document: dict[str, Any], *, kubernetes: str, ca: str) -> dict[str, Any]:
    """What `cluster node-config` printed, with what a user of such a cluster would add to it."""
    return {
        **document,
        "cluster": {**document.get("cluster", {}), "dnsServiceIP": str(CLUSTER_DNS)},
        "versions": {"kubernetes": kubernetes},
        "kubelet": {"servingCertificates": "on"},  # the lab approves them
        "runtime": {"registries": {f"registry.{DOMAIN}:{REGISTRY_PORT}": {"ca": ca}}},
        # A stock machine of the lab reaches no package archive but through the lab's proxy.
        "host": {"supportTools": False},
        "artifacts": {"sources": [f"http://artifacts.{DOMAIN}:{ARTIFACTS_PORT}"], "overlays": [OVERLAY]},
    }
