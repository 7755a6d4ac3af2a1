"""What of a machine is the product's own, read from its state directory."""

from __future__ import annotations

from collections.abc import Iterator

from flexnode.errors import FlexError
from flexnode.flows.preflight.check import Finding, failed, ok, warning
from flexnode.flows.preflight.situation import Ours, Situation
from flexnode.generation.directory import Desired, StateDirectory
from flexnode.generation.generation import Generation
from flexnode.generation.ledger import DiskLedger
from flexnode.resources import Phase
from flexnode.resources.state import Owned


def check_state(situation: Situation) -> Iterator[Finding]:
    ours = situation.ours
    if ours.failure is not None:
        yield failed(ours.failure, hint="run as root; the state lies in /var/lib/aks-flex-node")
    elif ours.warning:
        yield warning(
            "state/damaged",
            ours.warning,
            hint="nothing is lost that cannot be observed again: aks-flex-node bootstrap does so; if it comes"
            " back, look at the disk (dmesg)",
        )
    elif ours.joined:
        yield ok(f"joined, as generation {ours.generation}")
    else:
        yield ok("not joined" if not ours.generation else f"prepared, as generation {ours.generation}")


def load_ours(directory: StateDirectory) -> Ours:
    """Everything that the ledger or the current generation names. What cannot be read is told, not raised."""
    try:
        return _load(directory)
    except FlexError as error:
        return Ours(failure=error)


def _load(directory: StateDirectory) -> Ours:
    warnings: list[str] = []
    loaded = directory.load_state()
    warnings.append(loaded.warning)
    current = loaded.value.current if loaded.value is not None else None
    generation = Generation()
    if current:
        found = directory.load_generation(current)
        warnings.append(found.warning)
        generation = found.value or generation
    left = loaded.value is not None and loaded.value.desired is Desired.LEFT
    keys = frozenset(DiskLedger(directory.ledger, warn=warnings.append).touched())
    return Ours(
        joined=not left and any(resource.phase is Phase.JOINED for resource in generation.resources),
        generation=current or "",
        keys=keys | {resource.key for resource in generation.resources},
        trees=tuple(
            tree
            for resource in generation.resources
            if isinstance(resource.want, Owned)
            for tree in resource.want.trees
        ),
        warning="; ".join(filter(None, warnings)),
    )
