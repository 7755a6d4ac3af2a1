"""What of a machine is the product's own, read from its state directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from flexnode.components.layout import KUBELET_CERTIFICATE
from flexnode.errors import FlexError
from flexnode.flows.node_api import find_joined_name
from flexnode.flows.preflight.check import Finding, error, failed, ok, warning
from flexnode.flows.preflight.situation import Ours, Situation
from flexnode.generation.directory import StateDirectory
from flexnode.generation.ledger import DiskLedger
from flexnode.generation.lock import find_holder
from flexnode.generation.node_state import Desired
from flexnode.host.door import Host
from flexnode.resources import Resource
from flexnode.resources.state import Owned


def check_state(situation: Situation) -> Iterator[Finding]:
    ours = situation.ours
    if ours.failure is not None:
        yield failed(ours.failure, hint="run as root; the state lies in /var/lib/aks-flex-node")
    elif ours.busy:
        yield error(
            "state/busy",
            f"an operation is running on this machine: {ours.busy}",
            hint="wait for its end, then run again",
            transient=True,
        )
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


def load_ours(directory: StateDirectory, host: Host) -> Ours:
    """Everything that the product put here. What cannot be read is told, not raised."""
    try:
        ours = _load(directory)
    except FlexError as error:
        return Ours(failure=error)
    return replace(
        ours,
        certificate=ours.started and host.files.find(KUBELET_CERTIFICATE) is not None,
        node=find_joined_name(directory, host),
    )


def _load(directory: StateDirectory) -> Ours:
    state = directory.load_state()
    current = state.value.current if state.value is not None else None
    ledger = DiskLedger(directory.ledger)
    touched = ledger.touched()
    warnings = [state.warning]
    if ledger.blobs() is None:
        warnings.append(f"an entry in {directory.ledger} is damaged")
    # One that is only staged has touched nothing, and then the ledger is empty.
    known = directory.known_generations() if touched else filter(None, [current])
    resources: list[Resource] = []
    joined = False
    for identity in known:
        found = directory.load_generation(identity)
        warnings.append(found.warning)
        if found.value is not None:
            resources += found.value.resources
            joined = joined or (identity == current and found.value.joins)
    left = state.value is not None and state.value.desired is Desired.LEFT
    return Ours(
        joined=joined and not left,
        generation=current or "",
        keys=frozenset(touched) | {resource.key for resource in resources},
        trees=tuple(
            dict.fromkeys(
                tree
                for resource in resources
                if isinstance(resource.want, Owned)
                for tree in resource.want.trees
            )
        ),
        warning="; ".join(filter(None, warnings)),
        busy=_find_busy(directory),
    )


def _find_busy(directory: StateDirectory) -> str:
    """An operation that checks the machine before it begins holds the lock itself."""
    holder = find_holder(directory.lock)
    if holder is None or holder.pid == os.getpid():
        return ""
    return f"{holder.operation}, process {holder.pid}, since {holder.since:%H:%M:%S} UTC"
