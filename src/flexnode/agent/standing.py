"""Where the machine stands by the product's own records. Others write them, too: they are asked each time."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from flexnode.config import Resolved, digest
from flexnode.flows.findings import fill, recall
from flexnode.flows.node_api import find_node_name
from flexnode.flows.records import find_provision
from flexnode.generation.directory import StateDirectory
from flexnode.generation.generation import Generation
from flexnode.generation.lock import find_holder
from flexnode.generation.node_state import Desired, NodeState

_WATCHED = frozenset({"file", "link", "kubeconfig"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """`generation` is the current one, where it can be read."""

    state: NodeState
    generation: Generation | None = None
    unfinished: bool = False
    busy: bool = False

    @property
    def prepared(self) -> bool:
        """Whether it has what a node needs, and is none."""
        return self.generation is not None and not self.generation.joins

    @property
    def is_node(self) -> bool:
        """Whether the machine is in a cluster, and shall be."""
        wanted = self.state.current is not None and self.state.desired is not Desired.LEFT
        return wanted and not self.prepared

    @property
    def node(self) -> str:
        """The name of its Node; empty before there is one."""
        return (find_node_name(self.generation) if self.generation else None) or ""

    @property
    def paths(self) -> tuple[str, ...]:
        """What the generation keeps in files and links."""
        resources = self.generation.resources if self.generation else ()
        return tuple(each.name for each in resources if each.kind in _WATCHED and not each.until)


@dataclass(kw_only=True, slots=True)
class Standings:
    """Reads the records, those that did not change only once."""

    directory: StateDirectory
    _look: tuple[int, ...] | None = None
    _state: NodeState = field(default_factory=NodeState)
    _generation: Generation | None = None
    _read: str | None = None

    def read(self) -> Standing:
        """Raises a StateError where a newer version of the product wrote them."""
        look = self._look_at_state()
        if look != self._look or self._look is None:
            self._state = self.directory.load_state().value or NodeState()
            self._look = look
        current = self._state.current
        if current != self._read:
            self._generation = self.directory.load_generation(current).value if current else None
            self._read = current
        return Standing(
            state=self._state,
            generation=self._generation,
            unfinished=self.directory.journal.exists(),
            busy=find_holder(self.directory.lock) is not None,
        )

    def _look_at_state(self) -> tuple[int, ...]:
        try:
            found = os.stat(self.directory.state)
        except OSError:
            return ()
        return found.st_ino, found.st_size, found.st_mtime_ns


def find_origin(directory: StateDirectory, current: str, resolved: Resolved, now: str) -> str:
    """The digest of the configuration that the current generation came from, seen from the one that is `now`.

    Where the last bootstrap made it, its record tells whether that was with this configuration; empty: with
    another one. A generation whose origin nobody knows is taken as it is.
    """
    provision = find_provision(directory)
    if provision is None or provision.generation != current or not provision.config:
        return now
    filled = fill(resolved, recall(directory, resolved.spec.cluster.server))
    return now if digest(filled.resolved) == provision.config else ""
