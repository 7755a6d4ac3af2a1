"""Checks of the clock: who keeps it, and whether it agrees with the cluster's."""

from __future__ import annotations

from collections.abc import Iterator

from flexnode.errors import CommandError, KubeError
from flexnode.flows.preflight.check import Finding, error, failed, ok, skipped, warning
from flexnode.flows.preflight.reach import NO_CLUSTER, why_not
from flexnode.flows.preflight.situation import Situation
from flexnode.host.command import Command
from flexnode.kube import Code

TOLERATED = 10.0
HARMFUL = 300.0
"""Seconds. Beyond this, certificates and tokens that were just issued are not valid yet, or not any more."""

HINT = "let systemd-timesyncd or chrony reach a time server (timedatectl timesync-status), then run again"


def check_time_sync(situation: Situation) -> Iterator[Finding]:
    keeper = situation.facts.time_daemon
    if not keeper and situation.spec.machine.host.manage_time:
        keeper = "systemd-timesyncd"
    if not keeper:
        yield warning(
            "preflight/no-time-daemon",
            "nothing keeps this machine's clock, and host.manageTime is false",
            hint="install chrony or systemd-timesyncd, or set host.manageTime: true",
        )
    elif (synchronised := _find_synchronised(situation)) is False:
        yield warning(
            "preflight/time-not-synchronised",
            "the clock is not synchronised",
            hint=HINT,
        )
    elif synchronised is None:
        yield ok(f"kept by {keeper}; whether it is synchronised already cannot be asked")
    else:
        yield ok(f"synchronised, kept by {keeper}")


def check_clock_skew(situation: Situation) -> Iterator[Finding]:
    if situation.cluster is None:
        yield skipped(NO_CLUSTER)
        return
    try:
        offset = situation.cluster.reach().clock_offset
    except KubeError as failure:
        if failure.code == Code.CLOCK:
            yield failed(failure, hint=HINT)
        else:
            yield why_not(failure)
        return
    if offset is None:
        yield skipped("the API server does not tell its time")
        return
    skew = offset.total_seconds()
    words = f"{abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} the API server's clock"
    if abs(skew) > HARMFUL:
        yield error(
            Code.CLOCK,
            f"this machine's clock is {words}: certificates and tokens would not be valid",
            hint=HINT,
            transient=True,
        )
    elif abs(skew) > TOLERATED:
        yield warning("preflight/clock-skew", f"this machine's clock is {words}", hint=HINT)
    else:
        yield ok("agrees with the API server's clock")


def _find_synchronised(situation: Situation) -> bool | None:
    if situation.host.files.find("/run/systemd/timesync/synchronized"):
        return True
    try:
        done = situation.host.run(
            Command(argv=("timedatectl", "show", "--property=NTPSynchronized", "--value"), timeout=15.0)
        )
    except CommandError:  # no D-Bus on a minimal system
        return None
    return {"yes": True, "no": False}.get(done.text.strip())
