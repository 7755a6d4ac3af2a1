"""Whether the node's own services work, and what is done where they do not.

Asked is only what is on the machine: an API server that cannot be reached is not this node's illness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from flexnode.components.layout import CONTAINERD, KUBELET
from flexnode.errors import HostError
from flexnode.host.door import Enablement, Host, UnitInfo

UNITS = (CONTAINERD, KUBELET)
"""In this order: without its runtime kubelet cannot be well."""

INTERVAL = 60.0
SUSPICION = 10.0
"""Seconds until the next look, where all is well and where something is not."""

STRIKES = 2
"""One bad answer is none: a machine under load is slow."""

YOUTH = 60.0
"""For so many seconds after its start a unit is not expected to answer."""

RESTARTS, WINDOW = 3, 1200.0
"""What three restarts in twenty minutes did not cure, a fourth does not cure either."""

CRASHES = 5
"""A unit that ended by itself so often within the window does not work, though it runs at every look."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Vitals:
    """One look. `faults`: what units that run answered, if it was not that they are well."""

    units: Mapping[str, UnitInfo]
    faults: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """What is remembered of one unit. `since`: when this start of it was first seen."""

    invocation: str = ""
    since: float = 0.0
    strikes: int = 0
    fault: str = ""
    restarts: tuple[float, ...] = ()  # those by the agent
    counted: int = 0  # restarts by systemd, as it counts them since somebody started the unit
    crashes: tuple[float, ...] = ()


Records = Mapping[str, Record]


@dataclass(frozen=True, kw_only=True, slots=True)
class Remedy:
    """What follows from a look. `stopped`: units that somebody stopped, which is drift and not illness."""

    restart: str = ""
    why: str = ""
    faults: Mapping[str, str] = field(default_factory=dict)
    given_up: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    again: float = INTERVAL


def look(host: Host, find_kubelet_fault: Callable[[], str]) -> Vitals:
    """Ask systemd once for all units, and those that run for themselves."""
    units = host.units.find_all(UNITS)
    faults: dict[str, str] = {}
    if units[CONTAINERD].active:
        try:
            host.runtime.images()
        except HostError as error:
            faults[CONTAINERD] = error.message
    if units[KUBELET].active and not faults and (fault := find_kubelet_fault()):
        faults[KUBELET] = fault
    return Vitals(units=units, faults=faults)


def treat(vitals: Vitals, records: Records, now: float) -> tuple[Records, Remedy]:
    """At most one unit is restarted at a time, and none whose own foundation is ill."""
    after = {name: _record(vitals, name, records.get(name, Record()), now) for name in UNITS}
    confirmed = {name: each.fault for name, each in after.items() if each.strikes >= STRIKES}
    stopped = tuple(name for name in confirmed if _is_stopped(vitals.units[name]))
    ill = [name for name in confirmed if name not in stopped]
    curable = [name for name in ill if len(after[name].restarts) < RESTARTS]
    first = next((name for name in UNITS if after[name].strikes), "")
    chosen = first if first in curable else ""
    suspected = any(each.strikes and name not in confirmed for name, each in after.items())
    remedy = Remedy(
        restart=chosen,
        why=confirmed.get(chosen, ""),
        faults={**_find_crashes(after), **confirmed},
        given_up=tuple(name for name in ill if name not in curable),
        stopped=stopped,
        again=SUSPICION if suspected or chosen else INTERVAL,
    )
    return after, remedy


def note_restart(records: Records, name: str, now: float) -> Records:
    """The unit was restarted, or that was tried: it counts either way."""
    record = records.get(name, Record())
    return {**records, name: replace(record, strikes=0, restarts=(*_recent(record.restarts, now), now))}


def _record(vitals: Vitals, name: str, record: Record, now: float) -> Record:
    info = vitals.units[name]
    if info.active is None:  # systemd does not run here
        return Record()
    first = not record.invocation
    new = max(0, info.restarts - (info.restarts if first else record.counted))
    record = replace(
        record,
        restarts=_recent(record.restarts, now),
        counted=info.restarts,
        crashes=(*_recent(record.crashes, now), *[now] * min(new, CRASHES)),
    )
    if info.invocation and info.invocation != record.invocation:
        record = replace(record, invocation=info.invocation, since=now)
    fault = vitals.faults.get(name, "") if info.active else _describe_down(name, info)
    if not fault or (info.active and now - record.since < YOUTH):
        return replace(record, strikes=0, fault="")
    return replace(record, strikes=record.strikes + 1, fault=fault)


def _find_crashes(records: Records) -> dict[str, str]:
    return {
        name: f"{name} ended by itself {len(record.crashes)} times in {WINDOW / 60:.0f} minutes"
        for name, record in records.items()
        if len(record.crashes) >= CRASHES
    }


def _recent(times: tuple[float, ...], now: float) -> tuple[float, ...]:
    return tuple(time for time in times if now - time < WINDOW)


def _describe_down(name: str, info: UnitInfo) -> str:
    if info.enablement is Enablement.MASKED:
        return f"{name} is masked"
    if info.enablement is Enablement.ABSENT:
        return f"there is no {name}"
    return f"{name} failed" if info.failed else f"{name} does not run"


def _is_stopped(info: UnitInfo) -> bool:
    """Somebody's will, or a restart by systemd that does not get on: putting back is what helps."""
    return not info.active and (not info.failed or info.enablement in (Enablement.MASKED, Enablement.ABSENT))
