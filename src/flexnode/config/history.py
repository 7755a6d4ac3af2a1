"""The two shapes that documents had before they said their version, and how each becomes today's.

A value is checked under its old name, so that an error speaks of what stands in the user's file. An empty
text, a zero and a null meant "not set" to the program that read these documents, and still do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from flexnode.config import historic_values as values
from flexnode.config import v1
from flexnode.config.problems import Path, Problem, Report, find_similar, render_path
from flexnode.config.tree import Setting, find_field
from flexnode.config.types import WRONG

Turn = Callable[[Any, Path, Report, Mapping[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Old:
    """One key of an old shape: where its value goes, or, without a place, why it goes nowhere."""

    to: str = ""
    turn: Turn | None = None
    note: str = ""  # what the user is warned of
    hint: str = ""


FIRST: Final[Mapping[str, Old]] = {
    "azure.subscriptionId": Old("azure.subscriptionId"),
    "azure.tenantId": Old("azure.tenantId"),
    "azure.cloud": Old("azure.cloud"),
    "azure.servicePrincipal.clientId": Old("auth.servicePrincipal.clientId"),
    "azure.servicePrincipal.clientSecret": Old("auth.servicePrincipal.clientSecret"),
    "azure.arc.machineName": Old("azure.arc.machineName"),
    "azure.arc.tags": Old("azure.arc.tags"),
    "azure.arc.resourceGroup": Old("azure.arc.resourceGroup"),
    "azure.arc.location": Old("azure.arc.location"),
    "azure.arc.autoRoleAssignment": Old("azure.arc.autoRoleAssignment"),
    "azure.targetCluster.resourceId": Old("azure.cluster.resourceId"),
    "azure.targetCluster.location": Old("azure.cluster.location"),
    "kubernetes.version": Old("versions.kubernetes", turn=values.turn_version),
    "agent.logLevel": Old("agent.logLevel"),
    "agent.logDir": Old("agent.logDirectory"),
}

LATER: Final[Mapping[str, Old]] = {
    **{path: old for path, old in FIRST.items() if not path.startswith("kubernetes.")},
    "azure.resourceManagerEndpoint": Old("azure.resourceManagerEndpoint"),
    "azure.targetAgentPoolName": Old("azure.cluster.agentPool"),
    "azure.bootstrapToken.token": Old("auth.bootstrapToken"),
    "azure.managedIdentity.clientId": Old("auth.managedIdentity.clientId"),
    "azure.servicePrincipal.tenantId": Old("auth.servicePrincipal.tenantId"),
    "azure.arc.enabled": Old("auth.arc"),
    "components.kubernetes": Old("versions.kubernetes", turn=values.turn_version),
    "components.containerd": Old("versions.containerd", turn=values.turn_version),
    "components.runc": Old("versions.runc", turn=values.turn_version),
    "components.sandboxImage": Old("runtime.sandboxImage"),
    "bootstrap.offlineArtifacts.source": Old(
        "artifacts.sources",
        turn=values.turn_source,
        note="is asked for files by their digest, in a layout of its own",
        hint="fill it with `aks-flex-node artifacts mirror` or `bundle`",
    ),
    "networking.dnsServiceIP": Old("cluster.dnsServiceIP"),
    "networking.cniVersion": Old("versions.cniPlugins", turn=values.turn_version),
    "node.maxPods": Old("kubelet.maxPods"),
    "node.labels": Old("node.labels"),
    "node.taints": Old("node.taints"),
    "node.kubelet.clusterFQDN": Old("cluster.server", turn=values.turn_server),
    "node.kubelet.caCertData": Old("cluster.ca", turn=values.turn_certificates),
    "node.kubelet.nodeIP": Old("node.ip"),
    "node.kubelet.verbosity": Old("kubelet.verbosity"),
    "node.kubelet.imageGCHighThreshold": Old("kubelet.imageGCHighThresholdPercent"),
    "node.kubelet.imageGCLowThreshold": Old("kubelet.imageGCLowThresholdPercent"),
    "npd.version": Old(
        note="has no effect: the product does not install node-problem-detector",
        turn=values.check_version,
        hint="leave it out",
    ),
    "agent.nodeName": Old("node.name"),
    "agent.machineReconcileInterval": Old(
        note="has no effect: the agent looks at everything every agent.fullCheckInterval",
        turn=values.check_interval,
        hint="leave it out",
    ),
    "agent.requireMachineRegistration": Old(
        note="has no effect: the machine's object in AKS is not part of a join",
        turn=values.check_flag,
        hint="leave it out",
    ),
}

_NOT_SET: Final[tuple[object, ...]] = (None, "", 0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Converted:
    """An old document in today's shape. `keys`: how the document called each value."""

    data: Mapping[str, Any]
    keys: Mapping[Path, str]
    warnings: tuple[Problem, ...]


def is_first(data: Mapping[str, Any]) -> bool:
    """Whether a document is of the first shape: nothing in it is known to the later one only."""
    later_only = _places(LATER) - _places(FIRST)
    return not any(_has(data, path) for path in later_only)


def convert(data: Mapping[str, Any], report: Report) -> Converted:
    """An unversioned document as data of today's version; what is wrong in it goes into the report."""
    first = is_first(data)
    shape = FIRST if first else LATER
    warnings = Report(origin=report.origin)
    found: dict[str, Any] = {}
    keys: dict[Path, str] = {}
    for path, value in _leaves(data, shape, (), report):
        old = shape[".".join(path)]
        # A flag that is false says something; False == 0 would hide it.
        if not isinstance(value, bool) and value in _NOT_SET:
            continue
        place = tuple(old.to.split(".")) if old.to else ()
        turned = old.turn(value, path, report, data) if old.turn else value
        if turned is not WRONG and old.note:
            warnings.add(path, old.note, hint=old.hint)
        if turned is WRONG or not place:
            continue
        field = find_field(v1.NODE_CONFIG, place)
        decoded: Any = field.type.decode(turned, path, report) if isinstance(field, Setting) else WRONG
        if decoded is WRONG:
            continue
        # The raw value goes on, to be decoded with the rest; of a map only the entries that were accepted.
        entries = {key: turned[key] for key in decoded} if isinstance(turned, dict) else None
        _put(found, place, turned if entries is None else entries)
        keys |= _keys(place, path, entries)
    _choose_credential(data, found, keys, first=first)
    return Converted(data={**v1.HEADER, **found}, keys=keys, warnings=tuple(warnings.problems))


def _choose_credential(
    data: Mapping[str, Any], found: dict[str, Any], keys: dict[Path, str], *, first: bool
) -> None:
    """Some credentials were chosen by being there at all, however empty."""
    azure = data.get("azure")
    azure = azure if isinstance(azure, dict) else {}
    if not first and isinstance(azure.get("managedIdentity"), dict):
        found.setdefault("auth", {}).setdefault("managedIdentity", {})
        keys[("auth", "managedIdentity")] = "azure.managedIdentity"
    # In the first shape Arc had no switch: it was the node's identity, and a service principal beside it was
    # what the machine logged in with. There is one credential now, and the service principal is it.
    if first and isinstance(azure.get("arc"), dict) and "servicePrincipal" not in found.get("auth", {}):
        found.setdefault("auth", {})["arc"] = True
        keys[("auth", "arc")] = "azure.arc"


def _leaves(
    data: Mapping[str, Any], shape: Mapping[str, Old], at: tuple[str, ...], report: Report
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values of an old document that its shape knows."""
    for name, value in data.items():
        path = (*at, name)
        dotted = ".".join(path)
        if "." in name:
            report.add(path, "is not a setting")
        elif dotted in shape:
            yield path, value
        elif not any(known.startswith(dotted + ".") for known in shape):
            report.add(path, "is not a setting", hint=_hint(name, at, shape))
        elif isinstance(value, dict):
            yield from _leaves(value, shape, path, report)
        elif value is not None:
            report.add(path, "is not a map")


def _hint(name: str, at: tuple[str, ...], shape: Mapping[str, Old]) -> str:
    prefix = "".join(f"{step}." for step in at)
    siblings = {known.removeprefix(prefix).split(".")[0] for known in shape if known.startswith(prefix)}
    if similar := find_similar(name, sorted(siblings)):
        return f"did you mean {prefix}{similar}?"
    if not at and name in v1.NODE_CONFIG.fields:
        return f"begin the document with apiVersion: {v1.API_VERSION} and kind: {v1.KIND}"
    last = {known.rpartition(".")[2].lower(): known for known in shape}
    elsewhere = last.get(name.lower(), "")
    return f"did you mean {elsewhere}?" if elsewhere else ""


def _put(data: dict[str, Any], path: Path, value: Any) -> None:
    for step in path[:-1]:
        data = data.setdefault(str(step), {})
    data[str(path[-1])] = value


def _keys(place: Path, path: Path, entries: Mapping[str, Any] | None) -> dict[Path, str]:
    """How the document calls each value, where that is not as it is called today."""
    if place == path:
        return {}
    if entries is None:
        return {place: render_path(path)}
    return {place: render_path(path)} | {(*place, key): render_path((*path, key)) for key in entries}


def _places(shape: Mapping[str, Old]) -> set[tuple[str, ...]]:
    """The keys of a shape and every section around them."""
    keys = [tuple(known.split(".")) for known in shape]
    return {key[:end] for key in keys for end in range(1, len(key) + 1)}


def _has(data: Any, path: tuple[str, ...]) -> bool:
    for step in path:
        if not isinstance(data, dict) or step not in data:
            return False
        data = data[step]
    return True
