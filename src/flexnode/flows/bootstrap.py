"""A machine becomes a node, or takes over what changed in its configuration: the same call.

What needs no cluster can come ahead of it: then the machine is *prepared*, and the join finds that in place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flexnode.config import Resolved
from flexnode.errors import ConfigError, FlexError
from flexnode.flows.findings import Findings, recall
from flexnode.flows.node_api import is_node
from flexnode.flows.operate import prepare
from flexnode.flows.persistence import persist
from flexnode.flows.records import BOOTSTRAP, PREPARE, Bootstrapping, record_refusal
from flexnode.flows.target import Target, leave_out_cluster, make_machine_target, make_target
from flexnode.flows.workplace import Workplace
from flexnode.generation.outcome import Failure, Outcome
from flexnode.host.facts import read_facts
from flexnode.model.facts import Facts
from flexnode.model.spec import AgentSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class BootstrapOptions:
    """`retry`: also a generation that was rejected. `ignore`: names of preflight checks to leave out.

    `patient`: what fails for the moment is tried again for as long as the operation may take. The agent does
    without: it makes its own pauses, and looks after the node in them.
    """

    seconds: float | None = None  # None: the configured time
    retry: bool = False
    patient: bool = False
    ignore: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Beginning:
    """What the machine shall be. `check` is asked once it is clear that something has to be done for that."""

    target: Target
    check: Callable[[], object] | None = None


def bootstrap(resolved: Resolved, workplace: Workplace, options: BootstrapOptions) -> Outcome:
    """Check the machine, compose its node, and activate it. Safe to repeat; a second run changes nothing."""

    def begin() -> Beginning:
        facts = read_facts(workplace.host)

        def ask() -> Findings | None:
            return check(resolved, workplace, facts, BOOTSTRAP, options.ignore)

        if recall(workplace.directory, resolved.spec.cluster.server) is None:
            return Beginning(target=make_target(resolved, workplace, facts=facts, found=ask()))
        # Who remembers the cluster knows without it what is to be done, which may be nothing.
        try:
            return Beginning(target=make_target(resolved, workplace, facts=facts), check=ask)
        except ConfigError:
            raise
        except FlexError:
            ask()  # the checks may know better why
            raise

    seconds = choose_time(workplace, resolved.spec.agent)
    return _carry_out(BOOTSTRAP, begin, seconds, workplace, options)


def prepare_machine(resolved: Resolved, workplace: Workplace, options: BootstrapOptions) -> Outcome:
    """Put everything on the machine that a node needs and that needs no cluster, and stop there.

    Only the baked components are asked, and they can see neither a cluster nor a credential: the
    configuration need not name any. A node, or a machine that began to join, is refused.
    """

    def begin() -> Beginning:
        target = make_machine_target(resolved, workplace)
        alone = leave_out_cluster(resolved)
        return Beginning(
            target=target, check=lambda: check(alone, workplace, target.facts, PREPARE, options.ignore)
        )

    return _carry_out(PREPARE, begin, resolved.spec.agent.bootstrap_timeout, workplace, options)


def _carry_out(
    operation: str,
    begin: Callable[[], Beginning],
    usual: float,
    workplace: Workplace,
    options: BootstrapOptions,
) -> Outcome:
    """Activate what `begin` answers, and write down how it went. `usual`: the seconds where none are set."""
    seconds = options.seconds or usual

    def attempt() -> Outcome:
        started = workplace.clock.now()
        try:
            beginning = begin()
            target = beginning.target
            bootstrapping = Bootstrapping(started=started, config=target.config)
            crew = prepare(workplace, operation, target=target, bootstrapping=bootstrapping)
        except FlexError as error:
            failure = Failure.of(error)
            record_refusal(workplace.directory, workplace.clock, started, failure, operation=operation)
            raise
        with crew.at_work() as activation:
            outcome = activation.activate(
                target.generation,
                operation=operation,
                inputs=target.inputs,
                seconds=seconds,
                retry=options.retry,
                before=beginning.check,
            )
        return crew.complete(outcome)

    return persist(attempt, seconds=seconds, workplace=workplace) if options.patient else attempt()


def choose_time(workplace: Workplace, agent: AgentSpec) -> float:
    """How long it may take: a change can be rolled back, and is not waited for as long as a first join."""
    return agent.verify_timeout if is_node(workplace.directory) else agent.bootstrap_timeout


def check(
    resolved: Resolved, workplace: Workplace, facts: Facts, operation: str, ignore: Sequence[str]
) -> Findings | None:
    """Ask the preflight checks that belong to the operation; raise if one of them objects.

    Answers what the cluster told of itself, where nobody remembers it.
    """
    from flexnode.flows.preflight import Operation, preflight, relevant, require_passed
    from flexnode.flows.preflight.survey import Machine, survey

    machine = Machine(
        host=workplace.host,
        facts=facts,
        clock=workplace.clock,
        uid=os.geteuid(),
        directory=workplace.directory,
        digests=workplace.digests,
    )
    with (
        workplace.progress.step("look at the machine and its cluster"),
        survey(machine, resolved) as situation,
    ):
        if situation.ours.failure is not None:
            raise situation.ours.failure  # every check would take what is our own for somebody else's
        report = preflight(
            situation,
            checks=relevant(Operation(operation)),
            ignore=ignore,
            progress=workplace.progress,
        )
        found = situation.found
    require_passed(report)
    return found
