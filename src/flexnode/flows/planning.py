"""What bootstrap or leaving would change, told without changing anything."""

from __future__ import annotations

from flexnode.config import Resolved
from flexnode.flows.operate import prepare
from flexnode.flows.target import make_machine_target, make_target
from flexnode.flows.workplace import Workplace
from flexnode.generation.generation import Generation
from flexnode.generation.plan import Plan


def plan_bootstrap(resolved: Resolved, workplace: Workplace) -> Plan:
    target = make_target(resolved, workplace, keep=False)
    return prepare(workplace, "plan", target=target).activation.plan(target.generation)


def plan_preparation(resolved: Resolved, workplace: Workplace) -> Plan:
    """Raises where the machine is a node already, as preparing it would."""
    target = make_machine_target(resolved, workplace, keep=False)
    activation = prepare(workplace, "plan", target=target).activation
    activation.require_way_to(target.generation)
    return activation.plan(target.generation)


def plan_unbootstrap(workplace: Workplace) -> Plan:
    return prepare(workplace, "plan").activation.plan(Generation())
