"""What the state directory tells about the past, as far as it can be read.

What cannot is made up for by looking wider: all generations that lie there, and all that the ledger knows. So
damage never keeps a machine from leaving.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from flexnode.errors import GenerationError
from flexnode.generation.directory import StateDirectory
from flexnode.generation.generation import EMPTY_ID, Generation
from flexnode.generation.journal import Journal
from flexnode.generation.ledger import Ledger
from flexnode.generation.node_state import NodeState
from flexnode.generation.sequence import Past, unknown_resource
from flexnode.resources.state import Absent, State, Unit

_UNKNOWN: dict[str, State] = {
    "file": Absent(),
    "link": Absent(),
    "directory": Absent(),
    "unit": Unit(enabled=False, active=False),
}
"""What stands for an original whose entry is damaged: what is ours goes, what others edited stays."""

_OBSCURE = (
    "something of it may still be here: the records of what was put on this machine are damaged;"
    " `aks-flex-node bootstrap` makes them anew, and unbootstrap then finds everything"
)


@dataclass(kw_only=True, slots=True)
class History:
    """`vague`: some of it could not be read. `losses`: what a resource was before, and nobody can tell now.

    `obscure`: why something of the product may be on the machine that neither generation nor ledger names.
    """

    directory: StateDirectory
    ledger: Ledger
    state: NodeState
    journal: Journal
    current: Generation | None = None
    tried: tuple[Generation, ...] = ()
    vague: bool = False
    obscure: str = ""
    warnings: dict[str, None] = field(default_factory=dict)
    losses: dict[str, None] = field(default_factory=dict)

    @classmethod
    def load(cls, directory: StateDirectory, ledger: Ledger) -> History:
        loaded = directory.load_state()
        touched = ledger.touched()  # whatever a newer version wrote is met here, before anything is written
        history = cls(
            directory=directory,
            ledger=ledger,
            state=loaded.value or NodeState(),
            journal=Journal.load(directory.journal),
        )
        warning = loaded.warning
        if loaded.value is None and not warning and (directory.known_generations() or touched):
            warning = f"{directory.state} is missing"
        history.vague = bool(warning or history.journal.warning)
        history._warn(warning)
        history._warn(history.journal.warning)
        history._load_generations(known=loaded.value is not None, touched=bool(touched))
        return history

    @property
    def generations(self) -> tuple[Generation, ...]:
        """Everything that the machine may have something of."""
        return (self.current, *self.tried) if self.current else self.tried

    @property
    def may_be_node(self) -> bool:
        """Whether it joined a cluster, or began to."""
        return any(each.joins for each in self.generations)

    def has_way_back(self, identity: str) -> bool:
        """Whether the machine returns to its current generation if that one does not work.

        A first join has none, on a prepared machine neither: the cluster may know the node by now.
        """
        if self.current is None or self.current.id == identity:
            return False
        target = self.find(identity)
        return self.current.joins or (target is not None and not target.joins)

    def require_way_to(self, target: Generation) -> None:
        """Raise where `target` would take a node out of its cluster: only leaving takes care of its Node."""
        if target.resources and not target.joins and self.may_be_node:
            raise GenerationError(
                f"generation {target.id} belongs to no cluster, and this machine is a node, or about to be"
                " one: it would be taken out of its cluster",
                code="generation/would-leave",
                hint="to leave the cluster, and undo everything, run `aks-flex-node unbootstrap`",
            )

    def note(self, target: Generation) -> None:
        """From now on the machine may have something of this one too."""
        if target.resources and target not in self.generations:
            self.tried += (target,)

    def find(self, identity: str) -> Generation | None:
        """A generation by its id, from memory or disk."""
        if identity == EMPTY_ID:
            return Generation()
        for each in self.generations:
            if each.id == identity:
                return each
        loaded = self.directory.load_generation(identity)
        self._warn(loaded.warning)
        return loaded.value

    def past(self, target: Generation, *, back: bool = False) -> Past:
        """What has to be considered on the way to `target`; `back`: it is what this operation came from."""
        known = {each.key for one in (target, *self.generations) for each in one.resources}
        others = (key for key in self.ledger.touched() if key not in known)
        if not self.vague:
            # All else was put back when it was dropped; a directory may have had to wait until it was empty.
            leaving = not target.resources
            others = (key for key in others if leaving and key.startswith("directory:"))
        came_with = {each.key for each in self.current.resources} if back and self.current else None
        return Past(
            current=self.current,
            tried=self.tried,
            original=lambda key: self._original(key, came_with),
            others=tuple(unknown_resource(key) for key in others),
        )

    def _original(self, key: str, came_with: set[str] | None) -> State | None:
        if came_with is not None and key not in came_with:
            # On the way back it is not the ledger that counts but how things were when this operation began.
            before = self.journal.before(key)
            if before is not None:
                return before
        state = self.ledger.find(key)
        if state is None and self.ledger.is_damaged(key):
            self.losses[f"what {key} was before cannot be told: its ledger entry is damaged"] = None
            return _UNKNOWN.get(key.partition(":")[0])
        return state

    def _load_generations(self, *, known: bool, touched: bool) -> None:
        current = self.state.current
        attempt = self.journal.attempt()
        if not known and attempt is not None:
            current = attempt.previous
        tried = list(self.journal.targets())
        self.current = self.find(current) if current else None
        if current and self.current is None:
            self.vague = True
        if not current and not tried and touched:
            self.vague = True
            self._warn("the record of what was begun on this machine is lost")
        if self.vague:
            tried += self.directory.known_generations()
        generations = (self.find(each) for each in dict.fromkeys(tried) if each not in (current, EMPTY_ID))
        self.tried = tuple(each for each in generations if each is not None)
        if self.vague and not self.generations and self.ledger.blobs() is None:
            self.obscure = _OBSCURE

    def _warn(self, warning: str) -> None:
        if warning:
            self.warnings[warning] = None
