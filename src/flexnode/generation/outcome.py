"""What came of an activation: the same value for people, status, events and exit codes."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from flexnode.errors import FlexError, Kind
from flexnode.generation.steps import Timing
from flexnode.resources import Change, Disruption


class Result(StrEnum):
    """Where the machine rests now."""

    CONFIRMED = "confirmed"  # the target works, and is current
    UNCHANGED = "unchanged"  # it was so already
    ROLLED_BACK = "rolled-back"  # the target did not work; the previous generation does
    UNCONFIRMED = "unconfirmed"  # a first generation, or join, is in place and does not work yet; it goes on
    REBOOTING = "rebooting"  # the machine goes down; it goes on from there once it is up
    DEGRADED = "degraded"  # neither the target nor a way back works
    LEFT = "left"  # nothing of the product's is on the machine any more


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why the goal is unmet: the record of the error that ended the attempt."""

    code: str
    kind: Kind
    message: str
    hint: str = ""

    @classmethod
    def of(cls, error: FlexError) -> Failure:
        return cls(code=error.code, kind=error.kind, message=error.message, hint=error.hint)


class Outcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`generation` is what was asked for; `current` is what the machine is confirmed to be.

    `joined`: whether that is the node of a cluster, and not a machine that is only prepared.
    """

    result: Result
    operation: str
    generation: str
    current: str | None = None
    joined: bool = False
    changes: tuple[Change, ...] = ()
    restarts: tuple[str, ...] = ()
    disruption: Disruption = Disruption.NONE
    kept: tuple[str, ...] = ()  # files that somebody edited: still there, the original beside them
    reservations: tuple[str, ...] = ()  # what is not as it should be, although the goal is met
    warnings: tuple[str, ...] = ()  # what could not be read of the product's own state, and was done without
    failure: Failure | None = None
    timings: tuple[Timing, ...] = ()
