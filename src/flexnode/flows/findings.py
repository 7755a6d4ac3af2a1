"""What a cluster told about itself when the machine joined it.

It is asked once and remembered until the machine leaves. A joined node comes as somebody else, who may read
less, and a cluster that changes must not change its nodes behind their owners' backs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from flexnode.catalog import Catalog
from flexnode.clock import Clock
from flexnode.config import Resolved, fill_detected
from flexnode.flows.cluster_facts import Detected, connect, detect, settle_serving
from flexnode.flows.node_api import is_node
from flexnode.generation.directory import StateDirectory
from flexnode.generation.durable import load, remove, save
from flexnode.kube import Connection
from flexnode.kube.facts import ClusterFacts
from flexnode.model.facts import Facts
from flexnode.model.spec import NodeSpec


class Findings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`settings` by their paths in the configuration; they only fill what nobody set."""

    server: str
    ca: str
    settings: dict[str, str] = {}
    approves_serving: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Filled:
    """The configuration with nothing left to be found out, and what filled it."""

    resolved: Resolved
    spec: NodeSpec
    findings: Findings | None = None


def recall(directory: StateDirectory, server: str) -> Findings | None:
    """What is remembered of the cluster at `server`; damaged or of another cluster: nothing.

    A node stays in the cluster that it joined: for it, another server is another way to the same one.
    """
    found = load(_path(directory), Findings).value
    if found is None or found.server == server:
        return found
    return msgspec.structs.replace(found, server=server) if server and is_node(directory) else None


def remember(directory: StateDirectory, findings: Findings) -> None:
    directory.prepare()
    if recall(directory, findings.server) != findings:
        save(_path(directory), findings)


def forget_findings(directory: StateDirectory) -> None:
    remove(_path(directory))


def find_out(spec: NodeSpec, facts: Facts, catalog: Catalog, clock: Clock) -> Findings:
    """Ask the cluster, over a verified connection; raises a KubeError if it cannot be asked."""
    with connect(spec, clock=clock) as client:
        detected = detect(client, clock, known=catalog.document.release_sets, hostname=facts.hostname)
        return make_findings(spec, client.connection, detected)


def make_findings(spec: NodeSpec, connection: Connection, detected: Detected) -> Findings:
    """What is worth remembering of what was detected over a verified connection."""
    return Findings(
        server=spec.cluster.server,
        ca=connection.ca,
        settings=dict(detected.settings),
        approves_serving=detected.facts.approves_serving,
    )


def fill(resolved: Resolved, findings: Findings | None) -> Filled:
    """Put what was found in the places that nobody set."""
    if findings is None:
        return Filled(resolved=resolved, spec=resolved.spec)
    filled = fill_detected(resolved, findings.settings)
    spec = settle_serving(filled.spec, ClusterFacts(approves_serving=findings.approves_serving))
    if not spec.cluster.ca:
        # It was proven: by a signature made with the token, or by a hash of its key.
        spec = replace(spec, cluster=replace(spec.cluster, ca=findings.ca))
    return Filled(resolved=filled, spec=spec, findings=findings)


def _path(directory: StateDirectory) -> Path:
    return directory.root / "cluster.json"
