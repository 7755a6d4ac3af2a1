"""A node leaves its cluster, and its machine is what it was before."""

from __future__ import annotations

from flexnode.flows.findings import forget_findings
from flexnode.flows.operate import prepare
from flexnode.flows.package_files import forget_package_files
from flexnode.flows.workplace import Workplace
from flexnode.generation.generation import Generation
from flexnode.generation.outcome import Outcome, Result
from flexnode.model.spec import NodeSpec


def unbootstrap(workplace: Workplace, *, force: bool = False, spec: NodeSpec | None = None) -> Outcome:
    """Needs no configuration. `force`: go on where the cluster or a part of the machine refuses.

    `spec`: the configuration, where it can be read: the cluster may be behind its proxy.
    """
    crew = prepare(workplace, "unbootstrap", spec=spec, force=force)
    with crew.at_work() as activation:
        outcome = activation.activate(Generation(), operation="unbootstrap", forgiving=force)
    if outcome.result in (Result.LEFT, Result.UNCHANGED):
        forget_findings(workplace.directory)
        forget_package_files(workplace.directory)
    return crew.complete(outcome)
