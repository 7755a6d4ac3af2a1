"""What a generation is made of: one managed thing each, with the state that is wanted of it."""

from __future__ import annotations

from enum import IntEnum, StrEnum

import msgspec

from flexnode.resources.state import State


class Phase(StrEnum):
    """Baked: no cluster's name and no credential in it, may live in an image. Joined: the rest."""

    BAKED = "baked"
    JOINED = "joined"


class Disruption(IntEnum):
    """What a change costs the node, smallest first; a plan costs what its dearest change costs."""

    NONE = 0
    RELOAD = 1
    RESTART_CONTAINERD = 2
    RESTART_KUBELET = 3
    DRAIN = 4
    REBOOT = 5

    def __str__(self) -> str:
        return self.name.lower().replace("_", "-")


class Resource(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A managed thing. `key` is `kind:name` and unique in a generation: file:/etc/x, unit:kubelet.service."""

    key: str
    want: State
    phase: Phase = Phase.BAKED
    disruption: Disruption = Disruption.NONE
    after: tuple[str, ...] = ()  # keys of resources that come before it; undo is the reverse
    restarts: tuple[str, ...] = ()  # units that read it: restarted once, after all of it changed
    reloads: tuple[str, ...] = ()  # units that can take it over without a restart
    until: str = ""  # a path: once it exists, the thing is wanted no more (a credential of the join)
    pods_rely_on: str = ""  # what pods were started with: to give them another one takes a drain

    @property
    def kind(self) -> str:
        return self.key.partition(":")[0]

    @property
    def name(self) -> str:
        return self.key.partition(":")[2]


class Change(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step from what is to what is wanted: enough for another process to finish it, or to undo it."""

    key: str
    before: State
    after: State
    disruption: Disruption = Disruption.NONE
    restarts: tuple[str, ...] = ()
    reloads: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return self.key.partition(":")[0]

    @property
    def name(self) -> str:
        return self.key.partition(":")[2]
