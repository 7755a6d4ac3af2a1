"""From a configuration to the situation that checks look at. Nothing here changes anything, nor fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from flexnode.artifacts import resolve
from flexnode.clock import Clock
from flexnode.components.inputs import MachineInputs, Parts
from flexnode.components.kernel import SYSCTLS, SYSCTLS_FILE
from flexnode.components.machine import compose_machine
from flexnode.config import Resolved
from flexnode.digests import Digests
from flexnode.errors import FlexError
from flexnode.flows.cluster_facts import connect, detect, make_http_settings, make_proxies
from flexnode.flows.findings import Findings, fill, make_findings, recall
from flexnode.flows.node_api import has_joined, read_connection
from flexnode.flows.package_files import choose_package_files
from flexnode.flows.parts import choose_parts, load_spec_catalog
from flexnode.flows.preflight import firewall, rivals
from flexnode.flows.preflight.ask_cluster import AskCluster
from flexnode.flows.preflight.own import load_ours
from flexnode.flows.preflight.search import Search
from flexnode.flows.preflight.situation import Cluster, Ours, Situation
from flexnode.flows.workplace import Workplace
from flexnode.generation.directory import StateDirectory
from flexnode.host.door import Host
from flexnode.host.glance import Glance
from flexnode.kube import KubeClient
from flexnode.model.facts import Facts
from flexnode.model.spec import NodeSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """The machine, and where the product keeps what it knows of it."""

    host: Host
    facts: Facts
    clock: Clock
    uid: int
    directory: StateDirectory
    digests: Digests = field(default_factory=Digests)


@contextmanager
def survey(machine: Machine, resolved: Resolved) -> Iterator[Situation]:
    """The situation of `machine`. What the cluster tells fills what nobody set."""
    ours = load_ours(machine.directory, machine.host)
    remembered = _find_remembered(resolved, machine)
    spec = fill(resolved, remembered).spec
    if not spec.cluster.server:
        yield make_situation(machine, spec, ours=ours, cluster=None)
        return

    def come_in() -> KubeClient:
        """As the node that the machine is already; as one that wants to join otherwise."""
        joined = ours.certificate and has_joined(machine.host)
        credential = read_connection(machine.host).credential if joined else None
        return connect(spec, clock=machine.clock, credential=credential)

    with AskCluster(come_in, machine.clock) as cluster:
        found = None if remembered else _ask(resolved, cluster, machine)
        filled = fill(resolved, remembered or found).spec
        yield replace(make_situation(machine, filled, ours=ours, cluster=cluster), found=found)


def make_situation(machine: Machine, spec: NodeSpec, *, ours: Ours, cluster: Cluster | None) -> Situation:
    """The situation for a configuration in which nothing is left to be found out."""
    situation = Situation(
        host=Glance(machine.host, (*rivals.UNITS, firewall.FIREWALLD)),
        spec=spec,
        facts=machine.facts,
        clock=machine.clock,
        uid=machine.uid,
        resolve=resolve,
        cluster=cluster,
        proxies=make_proxies(spec),
        sysctls={**SYSCTLS, **spec.machine.host.sysctls},
        sysctl_file=SYSCTLS_FILE,
        ours=ours,
    )
    try:
        catalog = load_spec_catalog(spec)
        parts = _with_debs(machine, spec, choose_parts(catalog, spec, machine.facts))
        everything = choose_parts(catalog, spec, machine.facts, optional=True)
        everything = replace(everything, debs=parts.debs)
        search = _make_search(machine, spec, parts, everything)
    except FlexError as error:
        return replace(situation, no_parts=error)
    return replace(situation, parts=parts, missing=search.missing, search=search)


def _with_debs(machine: Machine, spec: NodeSpec, parts: Parts) -> Parts:
    """The parts, with the package files that a source has of what the machine lacks."""
    node = compose_machine(MachineInputs(machine=spec.machine, parts=parts, facts=machine.facts))
    place = Workplace(
        host=machine.host, clock=machine.clock, directory=machine.directory, digests=machine.digests
    )
    return replace(parts, debs=choose_package_files(node, spec, machine.facts, place, keep=False))


def _find_remembered(resolved: Resolved, machine: Machine) -> Findings | None:
    """What the cluster told when the machine joined it."""
    try:
        return recall(machine.directory, resolved.spec.cluster.server)
    except FlexError:  # the check of the state says why it cannot be read
        return None


def _ask(resolved: Resolved, cluster: AskCluster, machine: Machine) -> Findings | None:
    """What a bootstrap asks. A cluster that cannot be asked tells nothing: the checks say why."""
    try:
        known = load_spec_catalog(resolved.spec).document.release_sets
        api = cluster.api()
        detected = detect(api, machine.clock, known=known, hostname=machine.facts.hostname)
        return make_findings(resolved.spec, api.client.connection, detected)
    except FlexError:
        return None


def _make_search(machine: Machine, spec: NodeSpec, parts: Parts, everything: Parts) -> Search:
    """For what a machine is composed of: needed files, and those that a node works without."""
    inputs = MachineInputs(machine=spec.machine, parts=everything, facts=machine.facts)
    used = {need.sha256 for need in compose_machine(inputs).needs}
    files = (*everything.artifacts.values(), *everything.debs)
    needed = {artifact.sha256 for artifact in (*parts.artifacts.values(), *parts.debs)}
    return Search(
        [artifact for artifact in files if artifact.sha256 in used],
        spec.artifacts.sources,
        store=machine.directory.store,
        http=make_http_settings(spec),
        clock=machine.clock,
        digests=machine.digests,
        optional=used - needed,
    )
