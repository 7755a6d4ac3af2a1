"""Debian packages: what a node needs beyond a minimal system, and nothing of it once the node is gone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from flexnode.errors import FlexError, HostError
from flexnode.host import door
from flexnode.host.door import Host, Transaction
from flexnode.resources.handler import Contents
from flexnode.resources.staged import staged_file
from flexnode.resources.state import Packages, State


class PackagesHandler:
    """Wanted: `installed`. Found before a change: `absent` too, all that the change will newly install.

    Undoing is to purge exactly those. One that other packages have come to need since stays, with what it
    needs itself: it is not ours alone any more. `installed` of an earlier state is never installed again.
    """

    def __init__(self, via: door.Proxies = door.NO_PROXIES) -> None:
        """`via`: the way to the archives, for those who want something from there."""
        self._via = via

    def observe(self, host: Host, name: str, want: State, contents: Contents) -> State:
        wanted = _require(want)
        there = host.packages.installed(wanted.installed)
        if wanted.absent:
            return Packages(installed=_sorted(there.union(_find_purgeable(host.packages, wanted.absent))))
        missing = _sorted(set(wanted.installed) - there)
        if not missing:
            return Packages(installed=_sorted(there))
        try:
            newly = host.packages.simulate(missing, _debs(wanted, contents), via=self._via).installs
        except FlexError:
            # Looking must not fail where nobody wants to install, as when the node leaves. Whoever does want
            # to meets the same error in `preserve`.
            newly = ()
        return Packages(installed=_sorted(there), absent=_sorted({*newly, *missing}), debs=wanted.debs)

    def matches(self, want: State, found: State, contents: Contents) -> bool:
        wanted, there = _require(want), set(_require(found).installed)
        return not there.intersection(wanted.absent) if wanted.absent else there >= set(wanted.installed)

    def put(self, host: Host, name: str, state: State, contents: Contents) -> None:
        wanted = _require(state)
        if wanted.absent:
            if purgeable := _find_purgeable(host.packages, wanted.absent):
                host.packages.purge(purgeable)
        elif missing := _sorted(set(wanted.installed) - host.packages.installed(wanted.installed)):
            debs = _debs(wanted, contents)
            planned = host.packages.simulate(missing, debs, via=self._via)
            _refuse_side_effects(missing, planned, offline=bool(debs))
            host.packages.install(missing, debs, via=self._via)

    def preserve(self, host: Host, name: str, found: State, contents: Contents) -> None:
        """Refuse what could not be undone: more packages would be new than were recorded."""
        before = _require(found)
        if not before.absent:
            return
        planned = host.packages.simulate(before.absent, _debs(before, contents), via=self._via)
        if unrecorded := set(planned.installs).difference(before.absent):
            raise HostError(
                f"the package archive now wants to install {', '.join(_sorted(unrecorded))} besides",
                code="package/changed-meanwhile",
                transient=True,
                hint="another package manager was at work; try again",
            )


_BY_YOURSELF = "bring the machine up to date yourself (apt-get update; apt-get upgrade), then try again"
_NEW_BUNDLE = (
    "make the bundle anew from an archive that is as new as this machine (aks-flex-node artifacts bundle), or"
    " bring the machine up to date yourself"
)


def _refuse_side_effects(names: Iterable[str], planned: Transaction, *, offline: bool) -> None:
    effects = [
        f"{verb} {', '.join(packages)}"
        for verb, packages in (("upgrade", planned.upgrades), ("remove", planned.removes))
        if packages
    ]
    if effects:
        raise HostError(
            f"installing {', '.join(names)} would {' and '.join(effects)}",
            code="package/would-upgrade",
            hint=_NEW_BUNDLE if offline else _BY_YOURSELF,
        )


def _find_purgeable(packages: door.Packages, names: Iterable[str]) -> tuple[str, ...]:
    """Those of `names` that can be purged without taking any other package away."""
    rest = set(names)
    while rest:
        removed = set(packages.simulate_purge(_sorted(rest)).removes)
        if removed <= rest:
            return _sorted(removed)
        alone = {each for each in rest if rest.issuperset(packages.simulate_purge((each,)).removes)}
        if alone == rest:  # apt takes more away only for all of them together: rather keep them
            break
        rest = alone
    return ()


def _debs(state: Packages, contents: Contents) -> list[Path]:
    return [staged_file(contents, sha256) for sha256 in state.debs]


def _require(state: State) -> Packages:
    """A state that says nothing of packages leaves them as they are."""
    return state if isinstance(state, Packages) else Packages()


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names))
