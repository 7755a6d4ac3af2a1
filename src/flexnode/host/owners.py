"""Whom files belong to, where the one who writes them is not root."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Owners:
    """Root of the machine, as a user and a group of this one: as in a user namespace, both are shown as 0."""

    uid: int = 0
    gid: int = 0

    def inside(self, uid: int, gid: int) -> tuple[int, int]:
        """The owner as the machine knows him."""
        return (0 if uid == self.uid else uid), (0 if gid == self.gid else gid)

    def outside(self, uid: int | None, gid: int | None) -> tuple[int | None, int | None]:
        """The owner as this machine knows him; None stays open."""
        return (uid if uid else self.uid if uid == 0 else None), (
            gid if gid else self.gid if gid == 0 else None
        )


def this_process() -> Owners:
    """Root owns what root writes; for anybody else his own files stand for root's."""
    return Owners(uid=os.geteuid(), gid=os.getegid())
