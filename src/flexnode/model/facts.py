"""What a machine is, as far as its composition depends on it.

Only what the product's own changes cannot alter: a node that is composed again after it was joined comes out
the same, or its daemon would chase its own tail.
"""

from __future__ import annotations

from dataclasses import dataclass

from flexnode.model.artifact import Arch


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """Read off a machine once, before anything is composed."""

    arch: Arch
    os_id: str  # debian, ubuntu
    os_version: str  # 12, 24.04
    codename: str  # bookworm, noble
    cpus: int
    memory: int  # bytes, as the kernel counts them
    hostname: str = ""
    system_uuid: str = (
        ""  # what the firmware calls this machine; empty on a root file system that does not run
    )
    kernel: tuple[int, int] = (0, 0)
    time_daemon: str = ""  # the user's own unit that keeps time (chrony.service …); empty: none but systemd's
    resolved: bool = True  # systemd-resolved answers names here
    ipv6: bool = False  # the machine has an IPv6 address that others can reach
