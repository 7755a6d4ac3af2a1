"""What the settings must be together, checked on the merged result: each may come from another source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from flexnode.config.layers import DEFAULT, Provenance
from flexnode.config.names import split_taint
from flexnode.config.problems import Path, Problem, show_value
from flexnode.duration import parse_duration

KNOWN_CLOUDS: Final = ("AzurePublicCloud", "AzureUSGovernment", "AzureChinaCloud")

_REGION, _ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"


def find_contradictions(data: Mapping[str, Any], origins: Mapping[Path, Provenance]) -> list[Problem]:
    """Settings that cannot hold at the same time, whatever the data is used for."""
    checks = (_check_networks, _check_topology, _check_azure, _check_taints, _check_pulls)
    found = [each for check in checks for each in check(data)]
    return [
        Problem(path=path, what=what, origin=_origin(origins, path), value=value, hint=hint)
        for path, what, value, hint in [*_check_bounds(data, origins), *found]
    ]


def find_missing(data: Mapping[str, Any], *, complete: bool) -> list[Problem]:
    """What a credential cannot do without; `complete`: also what a node cannot join without."""
    missing = [*_missing_of_principal(data), *(_missing_of_node(data) if complete else ())]
    return [Problem(path=path, what=what, hint=hint) for path, what, hint in missing]


Found = tuple[Path, str, str, str]


def _check_bounds(data: Mapping[str, Any], origins: Mapping[Path, Provenance]) -> Iterator[Found]:
    """Pairs of which one bounds the other. The user's own value is at fault, not the default beside it."""
    kubelet = data["kubelet"]
    low, high = "imageGCLowThresholdPercent", "imageGCHighThresholdPercent"
    if kubelet[low] >= kubelet[high]:
        if _is_default(origins, ("kubelet", low)):
            what = f"is not above {low}, which is {kubelet[low]}"
            yield ("kubelet", high), what, str(kubelet[high]), f"set {low}, too"
        else:
            yield ("kubelet", low), f"is not below {high}, which is {kubelet[high]}", str(kubelet[low]), ""
    part, whole = "shutdownGracePeriodCriticalPods", "shutdownGracePeriod"
    if parse_duration(kubelet[part]) > parse_duration(kubelet[whole]):
        if _is_default(origins, ("kubelet", part)):
            what = f"is shorter than {part}, which is {kubelet[part]}"
            yield ("kubelet", whole), what, show_value(kubelet[whole]), f"set {part}, too"
        else:
            what = f"is longer than {whole}, which is {kubelet[whole]}"
            yield ("kubelet", part), what, show_value(kubelet[part]), ""


def _check_pulls(data: Mapping[str, Any]) -> Iterator[Found]:
    kubelet = data["kubelet"]
    parallel = kubelet.get("maxParallelImagePulls", 1)
    if kubelet["serializeImagePulls"] and parallel > 1:
        path = ("kubelet", "maxParallelImagePulls")
        yield path, "contradicts serializeImagePulls, which allows one at a time", str(parallel), "drop one"
    # One without a name was told already.
    providers = [each["name"] for each in kubelet.get("credentialProviders", ()) if "name" in each]
    for name in sorted({name for name in providers if providers.count(name) > 1}):
        yield ("kubelet", "credentialProviders"), "names a provider twice", show_value(name), ""


def _check_networks(data: Mapping[str, Any]) -> Iterator[Found]:
    from ipaddress import ip_address

    cluster = data["cluster"]
    services, pods = _networks(cluster.get("serviceCIDR")), _networks(cluster.get("podCIDR"))
    for service in services:
        for pod in pods:
            if service.version == pod.version and service.overlaps(pod):
                value = show_value(cluster["podCIDR"])
                yield ("cluster", "podCIDR"), f"overlaps serviceCIDR, which is {service}", value, ""
    dns = cluster.get("dnsServiceIP")
    if dns and services and not any(ip_address(dns) in service for service in services):
        what = f"lies outside serviceCIDR, which is {cluster['serviceCIDR']}"
        yield ("cluster", "dnsServiceIP"), what, show_value(dns), ""


def _check_topology(data: Mapping[str, Any]) -> Iterator[Found]:
    node = data.get("node", {})
    for setting, label in (("region", _REGION), ("zone", _ZONE)):
        wanted, given = node.get(setting), node.get("labels", {}).get(label)
        if wanted is not None and given is not None and wanted != given:
            what = f"contradicts node.{setting}, which is {show_value(wanted)}"
            yield ("node", "labels", label), what, show_value(given), "keep one of them"


def _check_taints(data: Mapping[str, Any]) -> Iterator[Found]:
    seen: dict[tuple[str, str], str] = {}
    for index, taint in enumerate(data.get("node", {}).get("taints", ())):
        key, _, effect = split_taint(taint)
        if (key, effect) in seen:
            what = f"has the key and the effect of {seen[key, effect]}"
            yield ("node", "taints", index), what, show_value(taint), "a node has one taint of each"
        seen[key, effect] = taint


def _check_azure(data: Mapping[str, Any]) -> Iterator[Found]:
    auth, azure = data["auth"], data.get("azure", {})
    chosen = [name for name in ("servicePrincipal", "managedIdentity") if name in auth]
    chosen += ["arc"] if auth["arc"] else []
    if len(chosen) > 1:
        *others, last = chosen
        what = f"stands beside auth.{' and auth.'.join(others)}: a node has at most one Azure credential"
        yield ("auth", last), what, "", "keep one of them"
    cloud = azure.get("cloud", KNOWN_CLOUDS[0])
    if cloud not in KNOWN_CLOUDS and "resourceManagerEndpoint" not in azure:
        what = f"is not {', '.join(KNOWN_CLOUDS[:-1])} or {KNOWN_CLOUDS[-1]}"
        hint = "for another cloud set azure.resourceManagerEndpoint, too"
        yield ("azure", "cloud"), what, show_value(cloud), hint


def _missing_of_principal(data: Mapping[str, Any]) -> Iterator[tuple[Path, str, str]]:
    principal = data["auth"].get("servicePrincipal")
    if principal is None:
        return
    for name in ("clientId", "clientSecret"):
        if name not in principal:
            yield ("auth", "servicePrincipal", name), "is missing", ""
    if "tenantId" not in principal and "tenantId" not in data.get("azure", {}):
        yield ("auth", "servicePrincipal", "tenantId"), "is missing", "set it, or azure.tenantId"


def _missing_of_node(data: Mapping[str, Any]) -> Iterator[tuple[Path, str, str]]:
    cluster, auth, azure = data["cluster"], data["auth"], data.get("azure", {})
    by_azure = "resourceId" in azure.get("cluster", {})
    if "server" not in cluster and not by_azure:
        hint = "set it, or azure.cluster.resourceId for an AKS cluster; `aks-flex-node cluster node-config` "
        yield ("cluster", "server"), "is missing", hint + "writes a configuration that is ready"
    if "server" in cluster and not {"ca", "caHashes"} & cluster.keys() and not by_azure:
        hint = "set it, or cluster.caHashes: without either anybody could pose as the cluster"
        yield ("cluster", "ca"), "is missing", hint
    if auth["arc"]:
        arc = azure.get("arc", {})
        if "tenantId" not in azure:
            yield ("azure", "tenantId"), "is missing: the machine is connected to Azure Arc", ""
        if "resourceGroup" not in arc:
            hint = "it is the machine's, which need not be the cluster's"
            yield ("azure", "arc", "resourceGroup"), "is missing: the machine is connected to Azure Arc", hint
        if "location" not in arc and "location" not in azure.get("cluster", {}):
            what = "is missing: the machine is connected to Azure Arc"
            yield ("azure", "arc", "location"), what, "set it, or azure.cluster.location"
        if "subscriptionId" not in azure and not by_azure:
            yield ("azure", "subscriptionId"), "is missing: the machine is connected to Azure Arc", ""


def _networks(text: str | None) -> list[Any]:
    from ipaddress import ip_network

    return [ip_network(part) for part in text.split(",")] if text else []


def _is_default(origins: Mapping[Path, Provenance], path: Path) -> bool:
    return origins[path].winner.origin == DEFAULT


def _origin(origins: Mapping[Path, Provenance], path: Path) -> str:
    """Where the value at a path comes from; for a map or a list, what comes first of it."""
    for end in range(len(path), 0, -1):
        said = [origins[known].winner for known in origins if known[:end] == path[:end]]
        if said:
            return str(said[0])
    return ""
