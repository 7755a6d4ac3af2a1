"""The current generation, looked after: how the machine differs from it, and how that is put back.

It is taken as it was confirmed, and not composed again: another version of this program may compose another
one, and looking after a node must not change it.
"""

from __future__ import annotations

from flexnode.errors import GenerationError
from flexnode.flows.node_api import find_current
from flexnode.flows.operate import prepare
from flexnode.flows.workplace import Workplace
from flexnode.generation.digest_memory import keep_digests
from flexnode.generation.directory import StateDirectory
from flexnode.generation.generation import Generation
from flexnode.generation.outcome import Outcome
from flexnode.generation.plan import Plan
from flexnode.model.spec import NodeSpec


def is_prepared(directory: StateDirectory) -> bool:
    """Whether the machine is prepared for a cluster, and neither in one nor on its way there."""
    current = find_current(directory)
    return current is not None and not current.joins and not directory.journal.exists()


def find_differences(workplace: Workplace, *, spec: NodeSpec | None = None) -> Plan:
    """What putting the machine back would change. `spec`: where the secrets in its files come from."""
    crew = prepare(workplace, "plan", spec=spec)
    return crew.activation.plan(_require_current(workplace.directory))


def examine(workplace: Workplace, *, spec: NodeSpec | None = None) -> Plan:
    """The same, with every file read again, whatever is remembered: a disk that rots changes no times."""
    workplace.digests.forget()
    plan = find_differences(workplace, spec=spec)
    keep_digests(workplace.directory, workplace.digests)
    return plan


def put_back(workplace: Workplace, *, seconds: float, spec: NodeSpec | None = None) -> Outcome:
    """Activate the current generation again. Nothing is fetched: its files have been here since it came."""
    state = workplace.directory.load_state().value
    crew = prepare(workplace, "repair", spec=spec)
    outcome = crew.activation.activate(
        _require_current(workplace.directory),
        operation="repair",
        inputs=state.inputs if state else "",
        seconds=seconds,
    )
    return crew.complete(outcome)


def release(workplace: Workplace, *, seconds: float, spec: NodeSpec | None = None) -> Outcome:
    """Let pods come again to a node that was cordoned for a change which did not come about, if it works."""
    crew = prepare(workplace, "release", spec=spec)
    with crew.at_work() as activation:
        return crew.complete(activation.release(seconds=seconds))


def _require_current(directory: StateDirectory) -> Generation:
    generation = find_current(directory)
    if generation is None:
        raise GenerationError(
            "this machine has no generation that could be looked after, or it cannot be read any more",
            code="generation/no-current",
            hint="run bootstrap",
        )
    return generation
