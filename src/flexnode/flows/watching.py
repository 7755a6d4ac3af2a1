"""The steps of an activation, as progress for people and as events."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

from flexnode.flows.records import Events
from flexnode.generation.steps import Moment, Name
from flexnode.progress import Progress

TITLES: Mapping[Name, str] = {
    Name.STAGE: "stage its files",
    Name.PLAN: "compare the machine with it",
    Name.DRAIN: "drain the node",
    Name.APPLY: "apply",
    Name.RESTART: "restart services",
    Name.REBOOT: "reboot the machine",
    Name.VERIFY: "wait until it is Ready",
    Name.ROLL_BACK: "go back",
    Name.CONFIRM: "confirm",
    Name.UNCORDON: "let pods come again",
}

PREPARING: Mapping[Name, str] = {**TITLES, Name.VERIFY: "see that it can start pods"}

_MANY = frozenset({Name.APPLY, Name.RESTART})
"""Steps that come one for each resource: people see them as one, with the key as its note."""


class _Failed(Exception):
    """Tells progress that a step failed; what happened is told by whoever catches the real failure."""


@dataclass(kw_only=True, slots=True)
class Watcher:
    """An `Observer`. After a `with` of it no step is left open, wherever between two the operation ended."""

    progress: Progress
    events: Events
    titles: Mapping[Name, str] = field(default_factory=lambda: TITLES)
    _open: list[tuple[Name, ExitStack]] = field(default_factory=list)

    def __call__(self, moment: Moment, name: Name, key: str, /) -> None:
        self.events(moment, name, key)
        if name not in self.titles:
            return
        if moment is Moment.BEGIN:
            self._begin(name, key)
        elif name not in _MANY or moment is Moment.FAILED:
            self._end(name, failed=moment is Moment.FAILED)

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        while self._open:
            self._end(self._open[0][0], failed=kind is not None)

    def _begin(self, name: Name, key: str) -> None:
        if not (self._open and self._open[-1][0] is name):
            if self._open and self._open[-1][0] in _MANY:
                self._end(self._open[-1][0])
            stack = ExitStack()
            stack.enter_context(self.progress.step(self.titles[name]))
            self._open.append((name, stack))
        if name in _MANY:
            self.progress.note(key)

    def _end(self, name: Name, *, failed: bool = False) -> None:
        """End that step and those inside of it, which nothing else ended."""
        if all(each is not name for each, _ in self._open):
            return
        while self._open:
            ended, stack = self._open.pop()
            why = _Failed() if failed else None
            stack.__exit__(type(why) if why else None, why, None)
            if ended is name:
                return
