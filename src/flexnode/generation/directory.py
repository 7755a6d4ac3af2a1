"""The state directory: what the product knows about its machine, and where each part of it lies."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from flexnode.artifacts.store import fsync_directory
from flexnode.generation.durable import Loaded, load, previous_of, remove, save, translate_errors
from flexnode.generation.generation import Generation
from flexnode.generation.node_state import NodeState

DEFAULT_ROOT = Path("/var/lib/aks-flex-node")


@dataclass(frozen=True, kw_only=True, slots=True)
class StateDirectory:
    """Paths, and the small documents among them. Who changes anything holds the lock."""

    root: Path = DEFAULT_ROOT

    @property
    def state(self) -> Path:
        return self.root / "state.json"

    @property
    def generations(self) -> Path:
        return self.root / "generations"

    @property
    def ledger(self) -> Path:
        return self.root / "ledger"

    @property
    def blobs(self) -> Path:
        return self.root / "blobs"

    @property
    def journal(self) -> Path:
        return self.root / "journal"

    @property
    def digests(self) -> Path:
        return self.root / "digests.json"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def store(self) -> Path:
        return self.root / "store"

    @property
    def members(self) -> Path:
        return self.root / "store" / "members"

    def prepare(self) -> None:
        """Make the directory, for root only: what was kept of the user's files is nobody else's business."""
        make_private(self.root)

    def load_state(self) -> Loaded[NodeState]:
        """None, without a warning, on a machine that the product never touched."""
        return load(self.state, NodeState, previous=True)

    def save_state(self, state: NodeState) -> None:
        save(self.state, state, keep_previous=True)

    def load_generation(self, identity: str) -> Loaded[Generation]:
        """A generation by its id. One whose content does not give that id again is damaged."""
        path = self._generation(identity)
        loaded = load(path, Generation, previous=True)
        if loaded.value is not None and loaded.value.id != identity:
            return Loaded(warning=f"{path} holds generation {loaded.value.id}")
        return loaded

    def save_generation(self, generation: Generation, identity: str) -> None:
        """Twice: without it nobody can tell the product's files from the user's when the machine leaves."""
        make_private(self.generations)
        save(self._generation(identity), generation)
        save(previous_of(self._generation(identity)), generation)

    def known_generations(self) -> tuple[str, ...]:
        """The ids of all that lie here, sorted; not read."""
        if not self.generations.is_dir():
            return ()
        return tuple(sorted({path.name.partition(".")[0] for path in self.generations.glob("[!.]*.json*")}))

    def collect_generations(self, keep: Iterable[str]) -> None:
        kept = set(keep)
        for identity in self.known_generations():
            if identity not in kept:
                remove(previous_of(self._generation(identity)))
                remove(self._generation(identity))

    def _generation(self, identity: str) -> Path:
        return self.generations / f"{identity}.json"


def make_private(path: Path) -> None:
    """A directory that only its owner may enter, durably; an existing one is made so."""
    with translate_errors(path):
        for missing in reversed(list(_missing(path))):
            missing.mkdir(mode=0o700, exist_ok=True)
            fsync_directory(missing.parent)
        if path.stat().st_mode & 0o7777 != 0o700:
            path.chmod(0o700)


def remove_folder(path: Path) -> None:
    """Remove a directory of the product's own with all in it; nothing there is fine."""
    with translate_errors(path):
        if path.is_dir():
            shutil.rmtree(path)
            fsync_directory(path.parent)


def _missing(path: Path) -> Iterator[Path]:
    while not path.is_dir():
        yield path
        path = path.parent
