"""What a node must know of its cluster and nobody has told it, as far as it may be read.

Every value may stay unknown: clusters differ in what they publish, and whoever asks may be a bootstrap token
that may read next to nothing. Unknown is None, and never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from flexnode.clock import Clock
from flexnode.errors import KubeError
from flexnode.kube.approval import find_approval
from flexnode.kube.failures import Code
from flexnode.kube.objects import find
from flexnode.kube.request import Api, Request, object_path

T = TypeVar("T")

SYSTEM = "/api/v1/namespaces/kube-system"
DAEMONSETS = "/apis/apps/v1/namespaces/kube-system/daemonsets"
SERVICE_CIDR = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes"

DNS_SERVICE = "kube-dns"  # its name whatever answers, CoreDNS too
KUBE_PROXY = "kube-proxy"
CONFIG_MAPS = ("kubeadm-config", "kubelet-config", KUBE_PROXY, "cilium-config")
"""What `cluster setup` lets nodes read, of that which clusters have."""


class ServiceProxy(StrEnum):
    """What makes Service addresses work on a node."""

    KUBE_PROXY = "kube-proxy"  # a DaemonSet of the cluster
    CILIUM = "cilium"  # in place of kube-proxy
    NONE = "none"  # nobody, as far as the cluster shows


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterFacts:
    """None: the cluster does not say, or not to us."""

    dns_service_ip: str | None = None
    domain: str | None = None
    service_cidr: str | None = None  # two of them, with a comma, where the cluster is of two stacks
    pod_cidr: str | None = None
    service_proxy: ServiceProxy | None = None
    approves_serving: bool | None = None
    """Whether somebody approves kubelets' serving certificates."""
    approval: str = field(default="", compare=False)
    """What shows that, or does not, in words."""


class _ServiceSpec(msgspec.Struct, frozen=True, rename="camel"):
    cluster_ip: str = msgspec.field(default="", name="clusterIP")


class _Service(msgspec.Struct, frozen=True):
    spec: _ServiceSpec = _ServiceSpec()


class _CidrSpec(msgspec.Struct, frozen=True):
    cidrs: tuple[str, ...] = ()


class _ServiceCidr(msgspec.Struct, frozen=True):
    spec: _CidrSpec = _CidrSpec()


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] | None = None


class _Unread(StrEnum):
    """What stands for an object that exists or not: we may not know. Absence is another answer."""

    FORBIDDEN = "forbidden"


def detect_cluster(api: Api, clock: Clock) -> ClusterFacts:
    """Ask the cluster for all of it. A failure that may pass by itself is raised: it proves nothing."""
    maps = {name: _read(api, object_path(SYSTEM, "configmaps", name), _ConfigMap) for name in CONFIG_MAPS}
    kubeadm = _section(_document(maps["kubeadm-config"], "ClusterConfiguration"), "networking")
    kubelet = _document(maps["kubelet-config"], "kubelet")
    proxy = _document(maps[KUBE_PROXY], "config.conf") or _document(maps[KUBE_PROXY], "config.json")
    servers = kubelet.get("clusterDNS")
    approval = find_approval(api, clock)
    return ClusterFacts(
        dns_service_ip=_dns_address(api)
        or _text(servers[0] if isinstance(servers, list) and servers else None),
        domain=_text(kubelet.get("clusterDomain")) or _text(kubeadm.get("dnsDomain")),
        service_cidr=_service_cidr(api) or _text(kubeadm.get("serviceSubnet")),
        pod_cidr=_text(kubeadm.get("podSubnet")) or _text(proxy.get("clusterCIDR")),
        service_proxy=_service_proxy(api, maps["cilium-config"]),
        approves_serving=approval.found,
        approval=approval.why,
    )


def _read(api: Api, path: str, kind: type[T]) -> T | _Unread | None:
    """The object; None where there is none, `_Unread` where we may not know."""
    try:
        return find(api, Request(path=path), kind)
    except KubeError as error:
        if error.code in (Code.FORBIDDEN, Code.UNAUTHORIZED):
            return _Unread.FORBIDDEN
        raise


def _dns_address(api: Api) -> str | None:
    found = _read(api, object_path(SYSTEM, "services", DNS_SERVICE), _Service)
    address = found.spec.cluster_ip if isinstance(found, _Service) else ""
    return address if address not in ("", "None") else None  # a headless Service says None


def _service_cidr(api: Api) -> str | None:
    found = _read(api, SERVICE_CIDR, _ServiceCidr)
    return ",".join(found.spec.cidrs) or None if isinstance(found, _ServiceCidr) else None


def _service_proxy(api: Api, cilium: _ConfigMap | _Unread | None) -> ServiceProxy | None:
    if isinstance(cilium, _ConfigMap):
        replaces = (cilium.data or {}).get("kube-proxy-replacement", "").lower()
        if replaces in ("true", "strict"):
            return ServiceProxy.CILIUM
    daemons = _read(api, object_path(DAEMONSETS, KUBE_PROXY), dict[str, Any])
    if isinstance(daemons, dict):
        return ServiceProxy.KUBE_PROXY
    if _Unread.FORBIDDEN in (cilium, daemons):
        return None
    return ServiceProxy.NONE


def _document(found: _ConfigMap | _Unread | None, key: str) -> dict[str, Any]:
    """A YAML document inside a ConfigMap; empty where there is none that can be read."""
    text = (found.data or {}).get(key, "") if isinstance(found, _ConfigMap) else ""
    if not text:
        return {}
    import yaml

    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _section(document: dict[str, Any], key: str) -> dict[str, Any]:
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
