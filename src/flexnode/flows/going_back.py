"""The generation before the current one, again; nothing is fetched."""

from __future__ import annotations

from flexnode.flows.findings import forget_findings
from flexnode.flows.operate import prepare
from flexnode.flows.package_files import forget_package_files
from flexnode.flows.workplace import Workplace
from flexnode.generation.outcome import Outcome, Result
from flexnode.model.spec import NodeSpec


def rollback(workplace: Workplace, *, seconds: float, spec: NodeSpec | None = None) -> Outcome:
    """The generation that is left behind is rejected: nothing activates it again by itself.

    `spec`: the configuration, where it can be read, as for `recover`.
    """
    crew = prepare(workplace, "rollback", spec=spec, urgent=True)
    with crew.at_work() as activation:
        return crew.complete(activation.rollback(seconds=seconds))


def recover(workplace: Workplace, *, spec: NodeSpec | None = None) -> Outcome | None:
    """End what was cut off, forward or back, by rule; None where nothing was.

    `spec`: the configuration, where it can be read: a file with a secret in it cannot be written without.
    """
    crew = prepare(workplace, "recover", spec=spec)
    with crew.at_work() as activation:
        outcome = activation.recover()
    if outcome is None:
        return None
    if outcome.result is Result.LEFT:
        forget_findings(workplace.directory)  # the next node that it becomes asks its cluster anew
        forget_package_files(workplace.directory)
    return crew.complete(outcome)


def prepare_boot(workplace: Workplace, *, spec: NodeSpec | None = None) -> None:
    """Before containerd and kubelet start: give them the files of one generation, and not of two."""
    with prepare(workplace, "recover at boot", spec=spec).at_work() as activation:
        activation.prepare_boot()
