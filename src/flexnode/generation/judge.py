"""What a step comes to on the machine as it is now: nothing, a change, or a file that its user keeps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count

import msgspec

from flexnode.errors import GenerationError
from flexnode.generation.sequence import Step
from flexnode.host.door import Host
from flexnode.host.glance import Glance
from flexnode.resources import Change
from flexnode.resources.handler import Contents, Handler
from flexnode.resources.running import BOOTED
from flexnode.resources.state import Absent, Directory, File, Member, Secret, State

BESIDE = ".before-flexnode"
"""What is added to the name of an edited file for the original that is laid beside it."""

BOOT_ID = "/proc/sys/kernel/random/boot_id"


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """`kept` is the path of a file that somebody edited: it stays, and the change is about the original."""

    change: Change | None = None
    kept: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """A host with what it takes to look at it and to change it."""

    host: Host
    handlers: Mapping[str, Handler]
    contents: Contents

    def handler(self, kind: str) -> Handler:
        if kind not in self.handlers:
            raise GenerationError(
                f"no part of this version manages things of the kind {kind}",
                code="generation/unknown-kind",
                hint="use the version of aks-flex-node that composed this generation",
            )
        return self.handlers[kind]

    @property
    def boot(self) -> str:
        """Changes whenever the machine starts; empty on one that does not run."""
        return self.host.files.read(BOOT_ID).decode().strip() if self.exists(BOOT_ID) else ""

    def exists(self, path: str) -> bool:
        return self.host.files.find(path) is not None

    def at_a_glance(self, steps: Iterable[Step]) -> Machine:
        """The same machine, for looking at all of these as long as nothing changes."""
        units = [step.resource.name for step in steps if step.resource.kind == "unit"]
        return replace(self, host=Glance(self.host, (*units, BOOTED)) if units else self.host)

    def judge(self, step: Step, begun: Mapping[str, State]) -> Move:
        """Look at the resource and say what has to be done. Changes nothing.

        `begun` are the goals of changes that an earlier attempt announced: an original that it laid in part
        beside an edited file is laid there again.
        """
        resource = step.resource
        handler = self.handler(resource.kind)
        found = handler.observe(self.host, resource.name, step.goal, self.contents)
        if handler.matches(step.goal, found, self.contents):
            return Move()
        if step.returning and self._is_edited(step, handler, found):
            return Move(change=self._beside(step, handler, begun), kept=resource.name)
        change = Change(
            key=resource.key,
            before=found,
            after=step.goal,
            disruption=step.disruption,
            restarts=resource.restarts,
            reloads=resource.reloads,
        )
        return Move(change=change)

    def put(self, change: Change) -> None:
        self.handler(change.kind).put(self.host, change.name, change.after, self.contents)

    def preserve(self, change: Change) -> None:
        """Keep what `change` overwrites, so that it can be put back."""
        self.handler(change.kind).preserve(self.host, change.name, change.before, self.contents)

    def _is_edited(self, step: Step, handler: Handler, found: State) -> bool:
        """Whether what lies there is neither the product's nor what was there before it."""
        if step.resource.kind not in ("file", "link") or step.resource.until or isinstance(found, Absent):
            return False
        if any(self._is_unknowable(state) for state in step.ours):
            return False
        known = (*step.ours, _timeless(step.goal))
        return not any(handler.matches(state, found, self.contents) for state in known)

    def _is_unknowable(self, state: State) -> bool:
        """Credentials change and are forgotten: a file that had one in it is never left behind as an edit."""
        if not isinstance(state, File):
            return False
        content = state.content
        return isinstance(content, Secret) or (
            isinstance(content, Member) and not self.contents.digest(content)
        )

    def _beside(self, step: Step, handler: Handler, begun: Mapping[str, State]) -> Change | None:
        """Lay the original under the first free name; None if there was none, or it lies there already."""
        if isinstance(step.goal, Absent | Directory):
            return None
        for number in count():
            name = f"{step.resource.name}{BESIDE}{f'.{number}' if number else ''}"
            found = handler.observe(self.host, name, step.goal, self.contents)
            if handler.matches(step.goal, found, self.contents):
                return None
            key = f"{step.resource.kind}:{name}"
            if isinstance(found, Absent) or begun.get(key) == step.goal:
                return Change(key=key, before=found, after=step.goal)
        raise AssertionError("unreachable")


def _timeless(state: State) -> State:
    """The original as its user would write it again by hand."""
    return msgspec.structs.replace(state, xattrs={}, mtime_ns=None) if isinstance(state, File) else state
