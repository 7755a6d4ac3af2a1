"""In which order a machine gets from what manages it now to another generation. Pure: looks at no machine.

What is wanted comes in the order of its generation. What is wanted no more goes in the reverse of the old
order, and makes room first: a port, a path, a package that the new may need for itself. Directories and
images go last, since the new may lie in them, or run from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from flexnode.generation.generation import Generation
from flexnode.resources import Disruption, Resource
from flexnode.resources.state import Absent, Owned, State

PATH_KINDS = frozenset({"file", "link", "directory"})
_LAST = frozenset({"directory", "image"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One resource, and the state that it shall be brought to."""

    resource: Resource
    goal: State
    returning: bool = False  # back to what the machine had
    ours: tuple[State, ...] = ()  # what the product had put there: anything else is somebody's edit
    heir_of: str = ""  # the key that managed the same path until now, as another kind
    drains: bool = False  # pods that run rely on what it was in the generation before

    @property
    def key(self) -> str:
        return self.resource.key

    @property
    def disruption(self) -> Disruption:
        """What changing it costs the node."""
        return max(self.resource.disruption, Disruption.DRAIN) if self.drains else self.resource.disruption


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """What a machine may still have of the product. `original` tells what it had before that, if known."""

    current: Generation | None = None
    tried: tuple[Generation, ...] = ()  # since then, and not confirmed
    original: Callable[[str], State | None] = lambda _key: None
    others: tuple[Resource, ...] = ()  # what the ledger knows and none of the generations does

    @property
    def generations(self) -> tuple[Generation, ...]:
        return (self.current, *self.tried) if self.current else self.tried


def order_steps(target: Generation, past: Past, *, expired: Callable[[str], bool]) -> tuple[Step, ...]:
    """All steps to `target`. What is wanted only until a path exists has `expired` once it does."""
    wanted = [each for each in target.resources if not (each.until and expired(each.until))]
    managed = _managed([*past.generations, target], past.others)
    kept = {each.key for each in wanted}
    gone = [key for key in managed if key not in kept]
    heirs = {each.name: each.key for each in wanted if each.kind in PATH_KINDS}
    replaced = {heirs[managed[key][0].name]: key for key in gone if _path_of(managed[key][0]) in heirs}
    leaving = [key for key in reversed(gone) if key not in replaced.values()]
    last = _last(leaving, managed) if wanted else frozenset()
    returns = {key: step for key in leaving if (step := _returning(managed[key], past)) is not None}
    return (
        *(step for key, step in returns.items() if key not in last),
        *(
            Step(
                resource=each,
                goal=each.want,
                heir_of=replaced.get(each.key, ""),
                drains=_moves_pods(each, past.current),
            )
            for each in wanted
        ),
        *(step for key, step in returns.items() if key in last),
    )


def find_turns(steps: Sequence[Step]) -> Mapping[int, tuple[str, ...]]:
    """After which step each unit has seen all that it reads: the number of the step, and units in order."""
    last: dict[str, int] = {}
    for number, step in enumerate(steps):
        for unit in (*step.resource.restarts, *step.resource.reloads):
            last[unit] = number
    own = {step.resource.name: number for number, step in enumerate(steps) if step.resource.kind == "unit"}
    turns: dict[int, list[str]] = {}
    for unit in sorted(last, key=lambda unit: own.get(unit, -1)):
        turns.setdefault(max(last[unit], own.get(unit, -1)), []).append(unit)
    return {number: tuple(units) for number, units in turns.items()}


def _moves_pods(wanted: Resource, current: Generation | None) -> bool:
    """Whether pods of the current generation rely on something else than this one will give them.

    Decided between two generations, and not by what is on the machine: putting back what somebody changed
    gives pods what they were started with, and what the current one lacks no pod relies on.
    """
    before = current.find(wanted.key) if current and current.joins else None
    return before is not None and before.pods_rely_on != wanted.pods_rely_on


def _managed(generations: Iterable[Generation], others: Iterable[Resource]) -> dict[str, list[Resource]]:
    """Every resource by its key, as each generation that knows it has it, in the order of the first one."""
    managed: dict[str, list[Resource]] = {}
    # What the ledger alone knows comes first, and so goes last: directories that were not empty, mostly.
    for each in others:
        managed.setdefault(each.key, [])
    for generation in generations:
        for each in generation.resources:
            managed.setdefault(each.key, []).append(each)
    for each in others:
        managed[each.key] = managed[each.key] or [each]
    return managed


def _returning(known: Sequence[Resource], past: Past) -> Step | None:
    """The way back of a resource that is wanted no more; None if the product never changed it."""
    resource = known[-1]
    ours = tuple(each.want for each in known)
    if isinstance(resource.want, Owned):
        # Others wrote it, so there is no entry of what it was before.
        left = msgspec.structs.replace(resource.want, left=True)
        return Step(resource=resource, goal=left, returning=True, ours=ours)
    goal = past.original(resource.key)
    if goal is None:
        return None
    if resource.until:
        # A credential of the join: nobody has to notice that it is gone.
        resource = msgspec.structs.replace(resource, restarts=(), reloads=())
    return Step(resource=resource, goal=goal, returning=True, ours=ours)


def _last(leaving: Sequence[str], managed: Mapping[str, Sequence[Resource]]) -> frozenset[str]:
    """What goes after the new has come: some kinds, and whatever those among them depend on."""
    last: set[str] = set()
    for key in leaving:  # in reverse order: who depends comes before what it depends on
        if managed[key][-1].kind in _LAST:
            last.add(key)
        if key in last:
            last.update(managed[key][-1].after)
    return frozenset(last)


def _path_of(resource: Resource) -> str:
    return resource.name if resource.kind in PATH_KINDS else ""


def unknown_resource(key: str) -> Resource:
    """A resource of which only the ledger is left."""
    return Resource(key=key, want=Absent())
