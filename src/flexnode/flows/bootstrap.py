"""A machine becomes a node, or takes over what changed in its configuration: the same call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from flexnode.config import Resolved
from flexnode.errors import ConfigError, FlexError
from flexnode.flows.findings import recall
from flexnode.flows.operate import prepare
from flexnode.flows.planning import plan_bootstrap
from flexnode.flows.preflight import Operation, preflight, relevant, require_passed
from flexnode.flows.preflight.survey import Machine, survey
from flexnode.flows.records import BOOTSTRAP, Bootstrapping, record_refusal
from flexnode.flows.target import make_target
from flexnode.flows.workplace import Workplace
from flexnode.generation.outcome import Failure, Outcome
from flexnode.host.facts import read_facts
from flexnode.model.spec import AgentSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class BootstrapOptions:
    """`retry`: also a generation that was rejected. `ignore`: names of preflight checks to leave out."""

    seconds: float | None = None  # None: the configured time
    retry: bool = False
    ignore: Sequence[str] = ()


def bootstrap(resolved: Resolved, workplace: Workplace, options: BootstrapOptions) -> Outcome:
    """Check the machine, compose its node, and activate it. Safe to repeat; a second run changes nothing."""

    started = workplace.clock.now()
    try:
        if not is_settled(resolved, workplace):
            check(resolved, workplace, options.ignore)
        target = make_target(resolved, workplace)
        bootstrapping = Bootstrapping(started=started, config=target.config)
        crew = prepare(workplace, BOOTSTRAP, target=target, bootstrapping=bootstrapping)
        seconds = options.seconds or choose_time(workplace, target.spec.agent)
    except FlexError as error:
        record_refusal(workplace.directory, workplace.clock, started, Failure.of(error))
        raise
    with crew.at_work() as activation:
        outcome = activation.activate(
            target.generation,
            operation=BOOTSTRAP,
            inputs=target.inputs,
            seconds=seconds,
            retry=options.retry,
        )
    return crew.complete(outcome)


def is_settled(resolved: Resolved, workplace: Workplace) -> bool:
    """Whether the machine is the node that is configured, so that nothing has to be checked beforehand.

    Raises a ConfigError where it cannot become what is configured, whatever the checks would say.
    """
    if recall(workplace.directory, resolved.spec.cluster.server) is None:
        return False
    try:
        return not plan_bootstrap(resolved, workplace).changes
    except ConfigError:
        raise
    except FlexError:
        return False  # the checks, or the operation itself, say why


def choose_time(workplace: Workplace, agent: AgentSpec) -> float:
    """How long it may take: a change can be rolled back, and is not waited for as long as a first join."""
    state = workplace.directory.load_state().value
    changes = state is not None and state.current is not None
    return agent.verify_timeout if changes else agent.bootstrap_timeout


def check(resolved: Resolved, workplace: Workplace, ignore: Sequence[str]) -> None:
    """Ask the preflight checks that speak about joining; raise if one of them objects."""
    machine = Machine(
        host=workplace.host,
        facts=read_facts(workplace.host),
        clock=workplace.clock,
        uid=os.geteuid(),
        directory=workplace.directory,
        digests=workplace.digests,
    )
    with (
        workplace.progress.step("look at the machine and its cluster"),
        survey(machine, resolved) as situation,
    ):
        report = preflight(
            situation,
            checks=relevant(Operation.BOOTSTRAP),
            ignore=ignore,
            progress=workplace.progress,
        )
    require_passed(report)
