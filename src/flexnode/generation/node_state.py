"""What the product has decided about its machine, and how that changes. Pure data."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

_REMEMBERED = 20
"""How many rejected generations are kept in mind."""


class Desired(StrEnum):
    """What the user last asked for. A machine that left stays idle, also after a reboot.

    One that is only prepared is to be a node, too, as soon as it is told of which cluster.
    """

    JOINED = "joined"
    LEFT = "left"


class Rejection(msgspec.Struct, frozen=True, kw_only=True):
    """Why a generation is not tried again. Other `inputs` than these get another try."""

    reason: str
    inputs: str
    when: datetime


class NodeState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `state.json` holds. `current` is confirmed; what is being tried stands in the journal."""

    current: str | None = None
    previous: str | None = None
    rejected: dict[str, Rejection] = {}
    desired: Desired | None = None
    inputs: str = ""  # the digest of the inputs that `current` was activated for
    cordoned: bool = False  # by the product, which owes the node its pods; what a person cordoned is not

    def with_rejection(self, identity: str, rejection: Rejection) -> NodeState:
        """The newest rejections only: the list must not grow for as long as the machine lives."""
        rejected = {**self.rejected, identity: rejection}
        newest = sorted(rejected, key=lambda each: rejected[each].when)[-_REMEMBERED:]
        return msgspec.structs.replace(self, rejected={each: rejected[each] for each in newest})

    def with_confirmed(self, identity: str, inputs: str) -> NodeState:
        """Exactly one generation before the current one is kept."""
        previous = self.current if self.current not in (None, identity) else self.previous
        return NodeState(
            current=identity,
            previous=previous if previous != identity else None,
            rejected={each: why for each, why in self.rejected.items() if each != identity},
            desired=Desired.JOINED,
            inputs=inputs,
            cordoned=self.cordoned,
        )
