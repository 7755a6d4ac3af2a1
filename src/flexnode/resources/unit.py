"""systemd units: whether they start by themselves, whether they run, whether they may."""

from __future__ import annotations

from flexnode.errors import HostError
from flexnode.host.door import Enablement, FileKind, Files, Host, UnitInfo
from flexnode.host.unit_file import ADMIN_UNITS, UNIT_PATH, template_of
from flexnode.host.unit_links import LinkedUnits
from flexnode.resources.handler import Contents
from flexnode.resources.state import Absent, State, Unit

_PULLED_IN_BY = (".wants", ".requires", ".upholds")


class UnitHandler:
    """A unit's file is a resource of its own: Absent is as good as stopped, disabled and not masked.

    A unit without an [Install] section can be neither enabled nor disabled, and is taken as it is. Where
    systemd does not run, nothing is active and only enablement counts. A failed unit is not active.
    """

    def observe(self, host: Host, name: str, want: State, contents: Contents) -> State:
        info = host.units.find(name)
        match info.enablement:
            case Enablement.ABSENT if not info.active:
                return Absent()
            case Enablement.MASKED:
                # A mask hides whether the unit would start; the links that say so stay below it.
                return Unit(enabled=_is_pulled_in(host.files, name), active=info.active, masked=True)
            case Enablement.ENABLED:
                return Unit(enabled=True, active=info.active)
            case Enablement.DISABLED:
                return Unit(enabled=False, active=info.active)
            case _:
                return Unit(active=info.active)

    def matches(self, want: State, found: State, contents: Contents) -> bool:
        wanted, there = _as_unit(want), _as_unit(found)
        return (
            wanted.masked == there.masked
            and _agree(wanted.enabled, there.enabled)
            and _agree(wanted.active, there.active)
        )

    def put(self, host: Host, name: str, state: State, contents: Contents) -> None:
        wanted = _as_unit(state)
        info = host.units.find(name)
        if info.enablement is Enablement.MASKED and _needs_unmasking(host, name, wanted, info):
            host.units.unmask(name)
            info = host.units.find(name)
        if info.needs_reload or (info.enablement is Enablement.ABSENT and _has_file(host.files, name)):
            host.units.reload_manager()
            info = host.units.find(name)
        if info.enablement is Enablement.ABSENT and (wanted.enabled or wanted.active):
            raise HostError(
                f"there is no unit {name}",
                code="unit/missing",
                hint="look for its file in /etc/systemd/system, and for what systemctl status says of it",
            )
        _put_enablement(host, name, wanted, info)
        _put_activity(host, name, wanted, info)
        if wanted.masked and host.units.find(name).enablement is not Enablement.MASKED:
            host.units.mask(name)

    def preserve(self, host: Host, name: str, found: State, contents: Contents) -> None:
        """The state found is all there is to keep."""


def _put_enablement(host: Host, name: str, wanted: Unit, info: UnitInfo) -> None:
    if wanted.enabled and info.enablement is Enablement.DISABLED:
        host.units.enable(name)
    elif wanted.enabled is False and info.enablement is Enablement.ENABLED:
        host.units.disable(name)
    elif wanted.enabled is False and info.enablement is Enablement.ABSENT and _is_pulled_in(host.files, name):
        # A mask had taken the place of its file: systemctl knows no such unit, and its links are left.
        LinkedUnits(host.files).disable(name)


def _put_activity(host: Host, name: str, wanted: Unit, info: UnitInfo) -> None:
    if wanted.active and info.active is False:
        host.units.start(name)
    elif wanted.active is False and (info.active or info.failed):
        host.units.stop(name)


def _needs_unmasking(host: Host, name: str, wanted: Unit, info: UnitInfo) -> bool:
    """Whether the mask itself, or what can only be done without it, has to go."""
    if not wanted.masked:
        return True
    starts = wanted.active and info.active is False
    return bool(starts) or not _agree(wanted.enabled, _is_pulled_in(host.files, name))


def _as_unit(state: State) -> Unit:
    return state if isinstance(state, Unit) else Unit(enabled=False, active=False)


def _agree(wanted: bool | None, found: bool | None) -> bool:
    """Whether one of them does not care, or both say the same."""
    return wanted is None or found is None or wanted == found


def _is_pulled_in(files: Files, name: str) -> bool:
    """Whether a link makes the unit start together with another."""
    folders = (f"{ADMIN_UNITS}/{entry}" for entry in files.list(ADMIN_UNITS) if entry.endswith(_PULLED_IN_BY))
    links = (files.find(f"{folder}/{name}") for folder in folders)
    return any(link is not None and link.kind is FileKind.LINK for link in links)


def _has_file(files: Files, name: str) -> bool:
    candidates = dict.fromkeys((name, template_of(name)))
    return any(files.find(f"{folder}/{each}") for folder in UNIT_PATH for each in candidates)
