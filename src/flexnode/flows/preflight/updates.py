"""Whether automatic updates would restart services under a running node."""

from __future__ import annotations

from collections.abc import Iterator

from flexnode.flows.preflight.check import Finding, ok, warning
from flexnode.flows.preflight.situation import Situation

RESTARTERS = ("needrestart", "unattended-upgrades")


def check_updates(situation: Situation) -> Iterator[Finding]:
    present = sorted(situation.host.packages.installed(RESTARTERS))
    if not present:
        yield ok("nothing restarts services by itself")
    elif situation.spec.machine.host.manage_updates:
        yield ok(f"{' and '.join(present)} will be told to leave the node's services alone")
    else:
        yield warning(
            "preflight/updates",
            f"{' and '.join(present)} may restart containerd and kubelet, or upgrade them, at any time",
            hint="set host.manageUpdates: true, or exclude both yourself: /etc/needrestart/conf.d,"
            " /etc/apt/apt.conf.d",
        )
