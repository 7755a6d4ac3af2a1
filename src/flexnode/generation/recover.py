"""What to do about a journal that is still open: finish the same generation, or return to the one before it.

By rule, without an operator and without a network. After a crash the same target is tried again for as long
as its time and its attempts last; a first join and a leaving machine have nowhere else to go.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import msgspec

from flexnode.generation.directory import DEFAULT_ROOT, StateDirectory
from flexnode.generation.generation import EMPTY_ID
from flexnode.generation.history import History
from flexnode.generation.journal import (
    NO_LIMIT,
    Confirmed,
    Journal,
    Opened,
    RolledBack,
    Stopped,
    Verified,
)
from flexnode.generation.node_state import Desired

MAX_ATTEMPTS = 3
DAMAGED_SECONDS = 600.0
"""For an operation whose own time limit cannot be read any more."""


class Way(StrEnum):
    """Where to go from here."""

    CLOSE = "close"  # it had not begun
    LOST = "lost"  # nobody knows what it was about
    CONFIRM = "confirm"  # it was found to work
    FORWARD = "forward"
    BACK = "back"


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """`opened` is the attempt to go on with; on the way back, the one that failed."""

    way: Way
    opened: Opened | None = None
    reason: str = ""


def needs_recovery(root: Path = DEFAULT_ROOT) -> bool:
    """Whether an operation on this machine has begun and not ended."""
    return StateDirectory(root=root).journal.exists()


def has_ended(journal: Journal) -> bool:
    """Whether only tidying up is left of the operation."""
    return journal.has(Confirmed) or journal.has(RolledBack)


def decide(history: History) -> Decision:
    """The rule. It needs nothing but what is on disk, so that a second crash changes nothing about it."""
    journal, state = history.journal, history.state
    last = journal.attempt()
    if last is None:
        return _without_records(history)
    if last.returns:
        return Decision(way=Way.BACK, opened=_failed_attempt(journal, last), reason=last.reason)
    if state.desired is Desired.LEFT:
        return _leave(history)
    if journal.has(Verified):
        return Decision(way=Way.CONFIRM, opened=last)
    if not history.has_way_back(last.target):
        return Decision(way=Way.FORWARD, opened=last)
    if rejection := state.rejected.get(last.target):
        return Decision(way=Way.BACK, opened=last, reason=rejection.reason)
    if last.attempt >= MAX_ATTEMPTS and not journal.has(Stopped):
        return Decision(way=Way.BACK, opened=last, reason=f"{last.attempt} attempts were cut off")
    if next_record(history, last).remaining == 0:
        return Decision(way=Way.BACK, opened=last, reason="it did not work within its time")
    return Decision(way=Way.FORWARD, opened=last)


def next_record(history: History, last: Opened) -> Opened:
    """The record that the next attempt at the same target begins with. While nothing ran no time passed."""
    journal = history.journal
    remaining = last.remaining
    if not history.has_way_back(last.target):
        # It will be tried for as long as it takes, so that each time has to be long enough.
        attempts = (each for each in journal.records if isinstance(each, Opened))
        remaining = max(
            (each.remaining for each in attempts if each.target == last.target), default=remaining
        )
    elif remaining > 0:
        remaining = max(0.0, remaining - journal.spent())
    attempt = next_attempt(journal, last.target)
    return msgspec.structs.replace(last, at=0.0, attempt=attempt, remaining=remaining)


def next_attempt(journal: Journal, target: str) -> int:
    """The number of the attempt that comes now. One that was interrupted in good order did not count."""
    last = journal.attempt()
    if last is None or last.target != target or last.returns:
        return 1
    return last.attempt if journal.has(Stopped) else last.attempt + 1


def _without_records(history: History) -> Decision:
    """The journal was about to begin, and nothing had changed; or its beginning is lost to damage."""
    if history.state.desired is Desired.LEFT and (history.current or history.journal.warning):
        return _leave(history)
    if not history.journal.warning:
        return Decision(way=Way.CLOSE)
    if history.current is None or (history.may_be_node and not history.current.joins):
        return Decision(way=Way.LOST)
    target = history.current.id
    return Decision(way=Way.FORWARD, opened=Opened(target=target, previous=target, remaining=DAMAGED_SECONDS))


def _leave(history: History) -> Decision:
    last = history.journal.attempt()
    name = last.operation if last is not None and last.target == EMPTY_ID else "unbootstrap"
    opened = Opened(target=EMPTY_ID, previous=history.state.current, operation=name, remaining=NO_LIMIT)
    return Decision(way=Way.FORWARD, opened=opened)


def _failed_attempt(journal: Journal, last: Opened) -> Opened:
    attempts = [each for each in journal.records if isinstance(each, Opened) and not each.returns]
    return attempts[-1] if attempts else Opened(target=last.previous or "", inputs=last.inputs)
