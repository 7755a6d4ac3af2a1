"""A named question about a machine, and what can be answered to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from flexnode.errors import FlexError, Kind
from flexnode.flows.preflight.situation import Situation


class Level(StrEnum):
    """What a finding means for the node."""

    OK = "ok"
    WARNING = "warning"  # a node would work, and somebody should know
    ERROR = "error"  # no node would come of it, or something of the user's would break
    SKIPPED = "skipped"  # it could not be asked, or need not be


class Operation(StrEnum):
    """What runs checks by itself, before it touches anything."""

    PREPARE = "prepare"  # what of a bootstrap needs no cluster
    BOOTSTRAP = "bootstrap"
    UPGRADE = "upgrade"
    UNBOOTSTRAP = "unbootstrap"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One answer. Errors and warnings have a code and a hint that names the remedy; errors a kind too."""

    level: Level
    message: str
    hint: str = ""
    code: str = ""
    kind: Kind | None = None
    name: str = ""  # of the check; whoever runs it writes it in
    retry_after: float | None = None  # seconds of patience that a server asked for


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """A question with a stable name. `run` changes nothing, and answers at least once."""

    name: str
    title: str  # what it looks at
    run: Callable[[Situation], Iterator[Finding]]
    remote: bool = False  # asks the network, and may have to wait for it
    late: Level = Level.ERROR  # what it means that it waited too long
    before: frozenset[Operation] = frozenset()  # the operations that ask it by themselves


def ok(message: str) -> Finding:
    return Finding(level=Level.OK, message=message)


def skipped(message: str) -> Finding:
    return Finding(level=Level.SKIPPED, message=message)


def warning(code: str, message: str, *, hint: str) -> Finding:
    return Finding(level=Level.WARNING, message=message, hint=hint, code=code)


def error(
    code: str, message: str, *, hint: str, transient: bool = False, retry_after: float | None = None
) -> Finding:
    kind = Kind.TRANSIENT if transient else Kind.TERMINAL
    return Finding(
        level=Level.ERROR, message=message, hint=hint, code=code, kind=kind, retry_after=retry_after
    )


def failed(failure: FlexError, *, hint: str = "", level: Level = Level.ERROR) -> Finding:
    """What a door said, as a finding; `hint` serves where the door has none."""
    return Finding(
        level=level,
        message=failure.message,
        hint=failure.hint or hint,
        code=failure.code,
        kind=failure.kind if level is Level.ERROR else None,
        retry_after=failure.retry_after,
    )
