"""What an operation works with, and what is asked of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from flexnode.clock import Clock
from flexnode.generation.contents import StoredContents
from flexnode.generation.deadline import Deadline
from flexnode.generation.directory import StateDirectory
from flexnode.generation.generation import Generation
from flexnode.generation.judge import Machine
from flexnode.generation.ledger import Ledger
from flexnode.generation.stage import Fetch


class Verify(Protocol):
    """Says nothing if the machine works as this generation wants it, else raises a FlexError.

    It may take until the deadline, and extends it for time that is not the machine's fault. Asked to stop
    meanwhile, it raises `Stopped`.
    """

    def __call__(self, generation: Generation, deadline: Deadline, /) -> None: ...


def trust(_generation: Generation, _deadline: Deadline, /) -> None:
    """For a machine that does not run, so that nothing can be verified on it."""


class Evacuation(Protocol):
    """Keeps pods away from a node while what they rely on changes. The generation tells which node it is."""

    def drain(self, generation: Generation, cordoning: Callable[[], None], /) -> None:
        """Cordon the node, and return once all pods that can be elsewhere are; else raise a FlexError.

        `cordoning` is called before, unless the node is cordoned already. Asked to stop meanwhile, it raises
        `Stopped`.
        """
        ...

    def uncordon(self, generation: Generation, /) -> None: ...


class NoCluster:
    """For a machine that does not run: there are no pods on it."""

    def drain(self, _generation: Generation, _cordoning: Callable[[], None], /) -> None:
        pass

    def uncordon(self, _generation: Generation, /) -> None:
        pass


@dataclass(frozen=True, kw_only=True, slots=True)
class Tools:
    """Everything that an operation works with."""

    machine: Machine
    contents: StoredContents
    directory: StateDirectory
    ledger: Ledger
    clock: Clock
    fetch: Fetch
    verify: Verify
    evacuation: Evacuation
    stop: Callable[[], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What was asked for. `rejects`: what is left behind shall not come again by itself.

    `before` is called once it is clear that there is something to do, before any of it; what it raises ends
    the operation.
    """

    name: str
    target: Generation
    seconds: float
    inputs: str = ""
    retry: bool = False
    forgiving: bool = False
    rejects: bool = False
    before: Callable[[], object] | None = None
