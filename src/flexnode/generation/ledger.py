"""What the machine had before the product touched it: one entry per resource, for as long as the node lives.

An entry is on disk before the first change of its resource, and never written again. Where a later want
reaches further than the first one did (more packages, another swap file), what it newly touches is added
beside it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Protocol

import msgspec

from flexnode.generation.directory import make_private, remove_folder
from flexnode.generation.durable import load, save
from flexnode.resources.state import Blob, File, Packages, State, Swap


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """The state that was found."""

    key: str
    state: State


class Ledger(Protocol):
    """Where activation looks up, and notes, what was there before."""

    def find(self, key: str) -> State | None:
        """What the machine had; None if the resource was never touched, or its entry is damaged."""
        ...

    def is_damaged(self, key: str) -> bool: ...

    def lacks(self, key: str, found: State) -> bool:
        """Whether `record` would write something."""
        ...

    def record(self, key: str, found: State) -> None: ...

    def touched(self) -> tuple[str, ...]:
        """The keys of all resources ever touched, sorted."""
        ...

    def blobs(self) -> frozenset[str] | None:
        """The digests of kept bytes that entries refer to; None if a damaged one may refer to any."""
        ...

    def clear(self) -> None:
        """Forget everything: nothing of the product is left on the machine."""
        ...


class NoLedger:
    """For a machine that is an image in the making: it has no past to go back to."""

    def find(self, key: str) -> State | None:
        return None

    def is_damaged(self, key: str) -> bool:
        return False

    def lacks(self, key: str, found: State) -> bool:
        return False

    def record(self, key: str, found: State) -> None:
        pass

    def touched(self) -> tuple[str, ...]:
        return ()

    def blobs(self) -> frozenset[str] | None:
        return frozenset()

    def clear(self) -> None:
        pass


class DiskLedger:
    """One file per entry, named after a digest of its key."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def find(self, key: str) -> State | None:
        entries = self._entries(key)
        if not entries or entries[0] is None:
            return None
        state = entries[0].state
        for more in entries[1:]:
            state = join_states(state, more.state) if more is not None else state
        return state

    def is_damaged(self, key: str) -> bool:
        return None in self._entries(key)

    def lacks(self, key: str, found: State) -> bool:
        known = self.find(key)
        if known is None:
            return not self._entries(key)
        return join_states(known, found) != known

    def record(self, key: str, found: State) -> None:
        if self.lacks(key, found):
            make_private(self._root)
            save(self._path(key, len(self._entries(key))), Entry(key=key, state=found))

    def touched(self) -> tuple[str, ...]:
        return tuple(sorted({entry.key for entry in self._all() if entry is not None}))

    def blobs(self) -> frozenset[str] | None:
        digests: set[str] = set()
        for entry in self._all():
            if entry is None:
                return None
            if isinstance(entry.state, File) and isinstance(entry.state.content, Blob):
                digests.add(entry.state.content.sha256)
        return frozenset(digests)

    def clear(self) -> None:
        remove_folder(self._root)

    def _entries(self, key: str) -> list[Entry | None]:
        """In the order of writing; None stands for one that is damaged."""
        entries: list[Entry | None] = []
        while (path := self._path(key, len(entries))).exists():
            entries.append(load(path, Entry).value)
        return entries

    def _all(self) -> list[Entry | None]:
        paths = sorted(self._root.glob("[!.]*.json")) if self._root.is_dir() else []
        return [load(path, Entry).value for path in paths]

    def _path(self, key: str, number: int) -> Path:
        name = hashlib.sha256(key.encode()).hexdigest()[:32]
        return self._root / (f"{name}.{number}.json" if number else f"{name}.json")


def join_states(known: State, found: State) -> State:
    """What was there before, as two looks tell it that did not reach equally far."""
    if isinstance(known, Packages) and isinstance(found, Packages):
        return msgspec.structs.replace(known, absent=_union(known.absent, found.absent))
    if isinstance(known, Swap) and isinstance(found, Swap):
        return msgspec.structs.replace(known, devices=_union(known.devices, found.devices))
    return known


def _union(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))
