"""A ready-made configuration for nodes of a cluster, from what the cluster says about itself."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import msgspec

from flexnode.clock import Clock
from flexnode.config.v1 import HEADER
from flexnode.errors import UsageError
from flexnode.kube import Api, Connection, parse_server
from flexnode.kube.discovery import read_version
from flexnode.kube.facts import ClusterFacts, detect_cluster
from flexnode.kube.objects import find
from flexnode.kube.request import Request
from flexnode.progress import Progress
from flexnode.secret import Secret

NO_TOKEN = "auth.bootstrapToken: make one with --token new"  # noqa: S105 words about a token

ROOT_CA = "/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt"


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeConfig:
    """A document for /etc/aks-flex-node/config.json, and what it could not say. It holds the token."""

    document: dict[str, Any]
    missing: tuple[str, ...] = ()

    def with_token(self, token: Secret) -> NodeConfig:
        """The same, with which a machine can join."""
        auth = {"bootstrapToken": token.reveal().strip()}
        missing = tuple(each for each in self.missing if each != NO_TOKEN)
        return NodeConfig(document={**self.document, "auth": auth}, missing=missing)


def make_node_config(
    api: Api,
    connection: Connection,
    *,
    server: str,
    token: Secret | None,
    clock: Clock,
    progress: Progress,
) -> NodeConfig:
    """The configuration of a node that joins this cluster; `server` empty: the address of the kubeconfig."""
    address = _reachable(connection, server)
    with progress.step("ask the cluster about itself"):
        facts = detect_cluster(api, clock)
        major, minor = read_version(api).minor
        ca = connection.ca or _root_ca(api)
    cluster = {"server": address, "ca": ca, **_known(facts)}
    document: dict[str, Any] = {
        **HEADER,
        "cluster": {key: value for key, value in cluster.items() if value},
    }
    missing = []
    if not ca:
        missing.append("cluster.ca: the cluster does not publish its CA")
    if not facts.dns_service_ip:
        missing.append("cluster.dnsServiceIP: the cluster's DNS service could not be found")
    if (major, minor) > (0, 0):
        # A kubelet may not be newer than its API server, and the catalog's default could be.
        document["versions"] = {"kubernetes": f"{major}.{minor}"}
    config = NodeConfig(document=document, missing=(*missing, NO_TOKEN))
    return config if token is None else config.with_token(token)


def _known(facts: ClusterFacts) -> dict[str, str | None]:
    return {
        "dnsServiceIP": facts.dns_service_ip,
        "domain": facts.domain,
        "serviceCIDR": facts.service_cidr,
        "podCIDR": facts.pod_cidr,
    }


def _reachable(connection: Connection, server: str) -> str:
    """The API server's address for machines other than this one."""
    if server:
        return parse_server(server)
    host = urlsplit(connection.server).hostname or ""
    if is_loopback(host):
        raise UsageError(
            f"nodes cannot reach the API server at {connection.server}: that is this machine alone",
            hint="name the address that nodes reach it at with --server https://HOST:PORT",
        )
    return connection.server


def is_loopback(host: str) -> bool:
    """Whether a host name or address is the machine itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _root_ca(api: Api) -> str:
    """What pods trust: a kubeconfig without a CA relies on the machine's own authorities, nodes cannot."""
    found = find(api, Request(path=ROOT_CA), _ConfigMap)
    return ((found.data if found else None) or {}).get("ca.crt", "")
