"""Packages that only pretend to be installed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flexnode.host.door import NO_PROXIES, Packages, Proxies, Transaction


@dataclass
class OverlayPackages:
    """What would come and go is asked of the package manager below, which changes nothing for that."""

    below: Packages
    _there: dict[str, bool] = field(default_factory=dict)

    def installed(self, names: Iterable[str]) -> frozenset[str]:
        wanted = tuple(names)
        found = self.below.installed(wanted)
        return frozenset(name for name in wanted if self._there.get(name, name in found))

    def simulate(
        self, names: Iterable[str], debs: Sequence[Path] = (), *, via: Proxies = NO_PROXIES
    ) -> Transaction:
        found = self.below.simulate(names, debs, via=via)
        kept = tuple(name for name in found.installs if not self._there.get(name, False))
        return Transaction(installs=kept, upgrades=found.upgrades, removes=found.removes)

    def simulate_purge(self, names: Iterable[str]) -> Transaction:
        wanted = tuple(names)
        real = self.below.simulate_purge(wanted).removes
        pretended = (name for name in wanted if self._there.get(name, False))
        gone = (name for name, there in self._there.items() if not there)
        return Transaction(removes=tuple(sorted({*real, *pretended}.difference(gone))))

    def install(self, names: Iterable[str], debs: Sequence[Path] = (), *, via: Proxies = NO_PROXIES) -> None:
        wanted = tuple(names)
        planned = self.simulate(wanted, debs, via=via)
        self._there |= dict.fromkeys((*wanted, *planned.installs), True)
        self._there |= dict.fromkeys(planned.removes, False)

    def purge(self, names: Iterable[str]) -> None:
        self._there |= dict.fromkeys(self.simulate_purge(names).removes, False)
