"""Which units have not yet seen what changed under them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from flexnode.host.door import Units
from flexnode.resources import Change
from flexnode.resources.state import Unit

_UNIT_FOLDERS = re.compile(r"(/etc|/run|/lib|/usr/lib|/usr/local/lib)/systemd/system/(?P<below>.+)")


def starts_unit(change: Change) -> bool:
    """Whether the unit runs after this change and did not before."""
    return change.kind == "unit" and _is_active(change.after) and not _is_active(change.before)


def stops_unit(change: Change) -> bool:
    """Whether the unit ran before this change and does not after it."""
    return change.kind == "unit" and _is_active(change.before) and not _is_active(change.after)


def unit_of(change: Change) -> str:
    """The unit whose definition a change is part of: its file, or a drop-in. Empty for any other change."""
    match = _UNIT_FOLDERS.fullmatch(change.name) if change.kind in ("file", "link") else None
    if match is None:
        return ""
    folder, name = posixpath.split(match["below"])
    return folder.removesuffix(".d") if folder.endswith(".d") else "" if folder else name


class Owed:
    """Filled by changes, emptied by starts. What a restart covers needs no reload."""

    def __init__(self, changes: Iterable[Change] = ()) -> None:
        self._restarts: dict[str, None] = {}
        self._reloads: dict[str, None] = {}
        self._defined: dict[str, None] = {}
        for change in changes:
            self.add(change)

    def add(self, change: Change) -> None:
        self._restarts.update(dict.fromkeys(change.restarts))
        self._reloads.update(dict.fromkeys(change.reloads))
        if unit := unit_of(change):
            self._defined[unit] = None

    def settle(self, unit: str) -> None:
        """The unit was started, restarted, reloaded or stopped after everything so far."""
        self._restarts.pop(unit, None)
        self._reloads.pop(unit, None)

    def has(self, unit: str) -> bool:
        return unit in self._restarts or unit in self._reloads

    def needs_restart(self, unit: str) -> bool:
        return unit in self._restarts

    @property
    def units(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._restarts, *self._reloads)))

    def find_stale(self, units: Units) -> tuple[str, ...]:
        """The units that systemd knows by an older definition than the one on disk."""
        known = units.find_all(tuple(self._defined)) if self._defined else {}
        return tuple(name for name, info in known.items() if info.needs_reload)


def _is_active(state: object) -> bool:
    return isinstance(state, Unit) and bool(state.active)
