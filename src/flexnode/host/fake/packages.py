"""A package manager in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flexnode.host.door import NO_PROXIES, Proxies, Transaction
from flexnode.host.failures import Code, failure
from flexnode.host.fake.steps import Steps

_STOCK = (
    "apt",
    "bash",
    "coreutils",
    "dpkg",
    "iproute2",
    "kmod",
    "libc6",
    "nftables",
    "systemd",
    "util-linux",
)

_ARCHIVE: Mapping[str, tuple[str, ...]] = {
    "conntrack": ("libnetfilter-conntrack3",),
    "curl": ("libcurl4",),
    "ebtables": (),
    "ethtool": (),
    "iptables": ("libxtables12",),
    "libcurl4": ("libc6",),
    "libnetfilter-conntrack3": ("libc6",),
    "libxtables12": ("libc6",),
    "socat": ("libc6",),
}


def render_deb(name: str, *depends: str) -> bytes:
    """A package file, as far as the fake reads one."""
    return f"Package: {name}\nDepends: {', '.join(depends)}\n".encode()


@dataclass
class FakePackages:
    """`archive` is what can be installed, with dependencies; the switches below make it misbehave."""

    steps: Steps
    archive: dict[str, tuple[str, ...]] = field(default_factory=lambda: dict(_ARCHIVE))
    present: set[str] = field(default_factory=lambda: set(_STOCK))
    half_configured: set[str] = field(default_factory=set)  # repaired before the next transaction
    locked: bool = False  # another package manager does not end
    reachable: bool = True  # whether the archive can be downloaded from
    behind: str = ""  # the one proxy through which it can
    upgrades: dict[str, tuple[str, ...]] = field(default_factory=dict)  # what installing the key upgrades
    removes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # what installing the key removes
    _depends: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of what was installed from files

    def installed(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset(names) & (self.present - self.half_configured)

    def simulate(
        self, names: Iterable[str], debs: Sequence[Path] = (), *, via: Proxies = NO_PROXIES
    ) -> Transaction:
        order = self._closure(names, self._offer(debs))
        return Transaction(
            installs=tuple(sorted(order)),
            upgrades=tuple(sorted({each for name in order for each in self.upgrades.get(name, ())})),
            removes=tuple(sorted({each for name in order for each in self.removes.get(name, ())})),
        )

    def simulate_purge(self, names: Iterable[str]) -> Transaction:
        there = self.present | self.half_configured
        return Transaction(removes=tuple(sorted(self._dependents(set(names) & there))))

    def install(self, names: Iterable[str], debs: Sequence[Path] = (), *, via: Proxies = NO_PROXIES) -> None:
        self._require_lock()
        wanted = list(names)
        offer = self._offer(debs)
        self._repair()
        order = self._closure(wanted, offer)
        if order and not debs and not self._reaches(via):
            raise failure(Code.PACKAGE_NETWORK, "the package archive cannot be reached")
        for name in order:
            self.half_configured.add(name)
            with self.steps.step(f"install {name}"):
                self.present.add(name)
                self.half_configured.discard(name)
                self._depends[name] = offer.get(name, ())
                self.present -= set(self.removes.get(name, ()))

    def purge(self, names: Iterable[str]) -> None:
        self._require_lock()
        self._repair()
        for name in sorted(self._dependents(set(names) & self.present)):
            with self.steps.step(f"purge {name}"):
                self.present.discard(name)

    def snapshot(self) -> dict[str, Any]:
        return {"installed": sorted(self.present), "half-configured": sorted(self.half_configured)}

    def _require_lock(self) -> None:
        if self.locked:
            raise failure(Code.PACKAGE_LOCKED, "another package manager holds the lock of dpkg")

    def _repair(self) -> None:
        if self.half_configured:
            with self.steps.step("configure what is half-way installed"):
                self.present |= self.half_configured
                self.half_configured.clear()

    def _reaches(self, via: Proxies) -> bool:
        return self.reachable and self.behind in ("", via.http.reveal() if via.http else None)

    def _offer(self, debs: Sequence[Path]) -> Mapping[str, tuple[str, ...]]:
        """What can be installed: package files stand in the place of the archive."""
        return dict(map(_read_deb, debs)) if debs else self.archive

    def _closure(self, names: Iterable[str], offer: Mapping[str, tuple[str, ...]]) -> list[str]:
        """What is missing of `names` and all they depend on, dependencies first."""
        order: list[str] = []

        def visit(name: str) -> None:
            if name in order or (name in self.present and name not in self.half_configured):
                return
            if name not in offer and name not in self.half_configured:
                if offer is not self.archive:
                    raise failure(Code.PACKAGE_MISFIT, f"the package files at hand lack {name}")
                raise failure(Code.PACKAGE_UNKNOWN, f"no package archive of this machine offers {name}")
            for each in offer.get(name, ()):
                visit(each)
            order.append(name)

        for name in names:
            visit(name)
        return order

    def _dependents(self, names: set[str]) -> set[str]:
        grown = set(names)
        while more := {
            name
            for name in self.present - grown
            if grown & set(self._depends.get(name, self.archive.get(name, ())))
        }:
            grown |= more
        return grown


def _read_deb(path: Path) -> tuple[str, tuple[str, ...]]:
    fields = dict(line.split(": ", 1) for line in path.read_text().splitlines() if ": " in line)
    return fields["Package"], tuple(filter(None, fields.get("Depends", "").split(", ")))
