"""The tools of an operation on a node, put together: what bootstrap, leaving, rollback and recovery share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from flexnode.artifacts import Proxies
from flexnode.errors import FlexError
from flexnode.flows.cluster_facts import make_proxies, to_archives
from flexnode.flows.evacuating import Evacuating
from flexnode.flows.leaving import Leaving
from flexnode.flows.node_api import make_connect
from flexnode.flows.readiness import Readiness
from flexnode.flows.records import Bootstrapping, Recorder, open_events
from flexnode.flows.supply import make_fetch
from flexnode.flows.target import Target, list_secrets
from flexnode.flows.watching import PREPARING, TITLES, Watcher
from flexnode.flows.workplace import Workplace
from flexnode.generation.activate import Activation
from flexnode.generation.contents import StoredContents
from flexnode.generation.ledger import DiskLedger
from flexnode.generation.outcome import Outcome
from flexnode.generation.stage import Fetch, fetch_nothing
from flexnode.host.door import NO_PROXIES
from flexnode.host.facts import read_system_uuid
from flexnode.model.spec import AgentSpec, NodeSpec
from flexnode.resources.registry import make_handlers


@dataclass(frozen=True, kw_only=True, slots=True)
class Crew:
    """An activation, and what happened beside it that its outcome does not know."""

    activation: Activation
    leaving: Leaving
    evacuating: Evacuating
    watcher: Watcher
    recorder: Recorder

    @contextmanager
    def at_work(self) -> Iterator[Activation]:
        """The activation; whatever it leaves open in the progress ends with the block."""
        with self.watcher:
            yield self.activation

    def complete(self, outcome: Outcome) -> Outcome:
        """The outcome, with what could not be asked of the cluster, and what could not be written down."""
        return msgspec.structs.replace(
            outcome,
            reservations=(
                *self.leaving.reservations,
                *self.evacuating.reservations,
                *outcome.reservations,
            ),
            warnings=(*outcome.warnings, *self.recorder.warnings),
        )


def prepare(
    workplace: Workplace,
    operation: str,
    *,
    target: Target | None = None,
    spec: NodeSpec | None = None,
    force: bool = False,
    urgent: bool = False,
    bootstrapping: Bootstrapping | None = None,
) -> Crew:
    """`target`: None for leaving, going back and recovering, which must not depend on the configuration.

    They can do more with one, though: `spec` tells where secrets come from, and the way through a proxy.
    `force` and `urgent`: leave, or go on, though the cluster cannot be asked.
    """
    host, clock, directory = workplace.host, workplace.clock, workplace.directory
    spec = target.spec if target else spec
    contents = StoredContents(
        directory, secrets=list_secrets(spec) if spec else None, digests=workplace.digests
    )
    fetch: Fetch = fetch_nothing
    if target is not None:
        fetch = make_fetch(target, contents.store, clock=clock, progress=workplace.progress)
    proxies = _find_proxies(spec)
    connect = make_connect(host, clock, proxies)
    system_uuid = target.facts.system_uuid if target else read_system_uuid(host.files)
    events = open_events(directory, clock, operation)
    titles = TITLES if target is None or target.generation.joins else PREPARING
    watcher = Watcher(progress=workplace.progress, events=events, titles=titles)
    recorder = Recorder(directory=directory, clock=clock, events=events, bootstrapping=bootstrapping)
    leaving = Leaving(
        host=host,
        clock=clock,
        system_uuid=system_uuid,
        connect=connect,
        force=force,
        progress=workplace.progress,
        stop=workplace.stop,
    )
    readiness = Readiness(
        host=host,
        clock=clock,
        system_uuid=system_uuid,
        connect=connect,
        find_kubelet_fault=workplace.find_kubelet_fault,
        progress=workplace.progress,
        stop=workplace.stop,
    )
    evacuating = Evacuating(
        host=host,
        clock=clock,
        system_uuid=system_uuid,
        connect=connect,
        urgent=urgent,
        spec=(spec.agent if spec else AgentSpec()).drain,
        progress=workplace.progress,
        stop=workplace.stop,
    )
    activation = Activation(
        host=host,
        handlers=make_handlers(
            leave_node=leaving, via=to_archives(proxies, spec) if proxies and spec else NO_PROXIES
        ),
        contents=contents,
        directory=directory,
        ledger=DiskLedger(directory.ledger),
        clock=clock,
        fetch=fetch,
        verify=readiness,
        evacuation=evacuating,
        observer=watcher,
        close=recorder,
        stop=workplace.stop,
    )
    return Crew(
        activation=activation, leaving=leaving, evacuating=evacuating, watcher=watcher, recorder=recorder
    )


def _find_proxies(spec: NodeSpec | None) -> Proxies | None:
    """None as well where the password of one cannot be read: a broken configuration keeps nobody here."""
    try:
        return make_proxies(spec) if spec else None
    except FlexError:
        return None
