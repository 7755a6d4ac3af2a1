"""What activating a generation would change, without changing anything."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from flexnode.generation.generation import Generation
from flexnode.generation.journal import Journal
from flexnode.generation.judge import Machine
from flexnode.generation.owed import starts_unit, stops_unit
from flexnode.generation.sequence import Past, Step, find_turns, order_steps
from flexnode.resources import Change, Disruption


class Plan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Changes in the order of application. Contents with secrets in them stand here by reference only."""

    target: str
    current: str | None = None
    changes: tuple[Change, ...] = ()
    restarts: tuple[str, ...] = ()  # units, once each, in the order of their turn
    reloads: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()  # files that somebody edited: they stay when the product goes
    disruption: Disruption = Disruption.NONE


def make_plan(target: Generation, past: Past, machine: Machine, journal: Journal) -> Plan:
    """Observe and compare, no more. The journal tells what an operation that has not ended did already.

    What only an earlier change makes visible (an image, before its runtime runs) counts as missing: at
    application each resource is looked at again.
    """
    steps = order_steps(target, past, expired=machine.exists)
    changes: list[Change] = []
    kept: list[str] = []
    done, begun = journal.done(), journal.begun()
    machine = machine.at_a_glance(steps)
    for step in steps:
        if step.returning and done.get(step.key) == machine.boot:
            continue
        move = machine.judge(step, begun)
        if move.change is not None:
            changes.append(move.change)
        if move.kept:
            kept.append(move.kept)
    restarts, reloads = _affected(steps, changes)
    return Plan(
        target=target.id,
        current=past.current.id if past.current else None,
        changes=tuple(changes),
        restarts=restarts,
        reloads=reloads,
        kept=tuple(kept),
        disruption=largest_disruption(changes),
    )


def largest_disruption(changes: Sequence[Change]) -> Disruption:
    """What the dearest of the changes costs."""
    return max((change.disruption for change in changes), default=Disruption.NONE)


def _affected(steps: Sequence[Step], changes: Sequence[Change]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The units to restart, and those that a reload is enough for; not those that are started anyway."""
    order = [unit for _, units in sorted(find_turns(steps).items()) for unit in units]
    spared = {change.name for change in changes if starts_unit(change) or stops_unit(change)}
    restarts = {unit for change in changes for unit in change.restarts} - spared
    reloads = {unit for change in changes for unit in change.reloads} - spared - restarts
    return (
        tuple(unit for unit in order if unit in restarts),
        tuple(unit for unit in order if unit in reloads),
    )
