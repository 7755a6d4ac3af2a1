"""A node leaves its cluster, and its machine is what it was before."""

from __future__ import annotations

from flexnode.flows.findings import forget_findings
from flexnode.flows.operate import prepare
from flexnode.flows.workplace import Workplace
from flexnode.generation.generation import Generation
from flexnode.generation.outcome import Outcome, Result


def unbootstrap(workplace: Workplace, *, force: bool = False) -> Outcome:
    """Needs no configuration. `force`: go on where the cluster or a part of the machine refuses."""
    crew = prepare(workplace, "unbootstrap", force=force)
    outcome = crew.activation.activate(Generation(), operation="unbootstrap", forgiving=force)
    if outcome.result in (Result.LEFT, Result.UNCHANGED):
        forget_findings(workplace.directory)
    return crew.complete(outcome)
