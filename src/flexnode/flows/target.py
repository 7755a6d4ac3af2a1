"""From a configuration to the generation that this machine shall be."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from flexnode.components.identity import node_name
from flexnode.components.inputs import MachineInputs, Parts
from flexnode.components.join_token import TOKEN
from flexnode.components.joining import NodeInputs
from flexnode.components.machine import compose_machine
from flexnode.components.node import compose_node
from flexnode.components.node_proxy import HTTP, HTTPS
from flexnode.config import Resolved, digest
from flexnode.errors import ConfigError
from flexnode.flows.findings import Findings, fill, find_out, recall, remember
from flexnode.flows.node_api import NAME_CHANGED, find_joined_name
from flexnode.flows.package_files import choose_package_files
from flexnode.flows.parts import choose_parts, load_spec_catalog
from flexnode.flows.workplace import Workplace
from flexnode.generation.contents import Secrets
from flexnode.generation.generation import Generation
from flexnode.host.facts import read_facts
from flexnode.model.credentials import Credentials
from flexnode.model.facts import Facts
from flexnode.model.spec import ClusterSpec, IdentitySpec, NodeSpec
from flexnode.secret import Secret


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What the machine shall be, and what that was composed from.

    `inputs` names everything that went in: a generation that was rejected is tried again once it differs.
    """

    generation: Generation
    spec: NodeSpec
    parts: Parts
    facts: Facts
    node: str  # empty: it joins no cluster
    config: str  # the digest of the effective configuration
    inputs: str
    secrets: Secrets


def make_target(
    resolved: Resolved,
    workplace: Workplace,
    *,
    facts: Facts | None = None,
    found: Findings | None = None,
    keep: bool = True,
) -> Target:
    """Compose the node. The cluster is asked for what nobody set, once in the life of the node.

    `facts` and `found` are what the machine and the cluster told just now, where they were asked already.
    `keep`: whether the cluster's answers are remembered; who only plans leaves no trace.
    """
    facts = facts or read_facts(workplace.host)
    catalog = load_spec_catalog(resolved.spec)
    findings = recall(workplace.directory, resolved.spec.cluster.server) or found
    if findings is None and resolved.spec.cluster.server:
        with workplace.progress.step("ask the cluster"):
            findings = find_out(resolved.spec, facts, catalog, workplace.clock)
    if findings is not None and keep:
        remember(workplace.directory, findings)
    filled = fill(resolved, findings)
    parts = choose_parts(catalog, filled.spec, facts)
    inputs = NodeInputs(spec=filled.spec, parts=parts, facts=facts)
    debs = choose_package_files(compose_node(inputs), filled.spec, facts, workplace, keep=keep)
    inputs = replace(inputs, parts=(parts := replace(parts, debs=debs)))
    generation = compose_node(inputs)
    require_same_name(workplace, node_name(inputs))
    return Target(
        generation=generation,
        spec=filled.spec,
        parts=parts,
        facts=facts,
        node=node_name(inputs),
        config=digest(filled.resolved),
        inputs=_name_inputs(filled.resolved, generation),
        secrets=list_secrets(filled.spec),
    )


def require_same_name(workplace: Workplace, name: str) -> None:
    """A node keeps its name until it leaves: its certificate, its Node and its pods are bound to it."""
    known = find_joined_name(workplace.directory, workplace.host)
    if known and known != name:
        raise ConfigError(
            f"this machine is the node {known}, and the configuration names it {name}",
            code=NAME_CHANGED,
            hint=f"set node.name to {known}; for the other name leave first: aks-flex-node unbootstrap, then"
            " bootstrap",
        )


def make_machine_target(resolved: Resolved, workplace: Workplace, *, keep: bool = True) -> Target:
    """Compose what of the node needs no cluster: none is asked, and no credential is looked at.

    `keep`: whether what its sources said of packages is remembered, so that the join composes the same.
    """
    facts, spec = read_facts(workplace.host), leave_out_cluster(resolved).spec
    parts = choose_parts(load_spec_catalog(spec), spec, facts)
    inputs = MachineInputs(machine=spec.machine, parts=parts, facts=facts)
    debs = choose_package_files(compose_machine(inputs), spec, facts, workplace, keep=keep)
    inputs = replace(inputs, parts=(parts := replace(parts, debs=debs)))
    generation = compose_machine(inputs)
    return Target(
        generation=generation,
        spec=spec,
        parts=parts,
        facts=facts,
        node="",
        config=digest(resolved),
        inputs=_name_inputs(resolved, generation),
        secrets={},
    )


def leave_out_cluster(resolved: Resolved) -> Resolved:
    """The configuration without what only a node needs. A proxy's password is needed to fetch files."""
    known = resolved.spec.credentials
    proxies = Credentials(http_proxy=known.http_proxy, https_proxy=known.https_proxy)
    alone = replace(
        resolved.spec, cluster=ClusterSpec(), identity=IdentitySpec(), azure=None, credentials=proxies
    )
    return replace(resolved, spec=alone)


def list_secrets(spec: NodeSpec) -> Secrets:
    """How each secret of a node is read, at the moment it is written and not before."""
    credentials = spec.credentials
    named = {TOKEN: credentials.bootstrap_token, HTTP: credentials.http_proxy, HTTPS: credentials.https_proxy}
    return {name: _giver(secret) for name, secret in named.items() if secret is not None}


def _giver(secret: Secret) -> Callable[[], Secret]:
    return lambda: secret


def _name_inputs(resolved: Resolved, generation: Generation) -> str:
    names = f"{digest(resolved)}\n{generation.id}\n"
    return hashlib.sha256(names.encode()).hexdigest()[:16]
