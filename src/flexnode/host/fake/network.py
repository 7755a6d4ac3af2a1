"""Interfaces and packet filter rules in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from flexnode.host.fake.steps import Steps


@dataclass
class FakeNetwork:
    """`filters`: by FAMILY/TABLE/CHAIN the chains that its rules jump to, an empty name for another rule."""

    steps: Steps
    running: bool = True
    interfaces: set[str] = field(default_factory=lambda: {"lo", "eth0"})
    filters: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def links(self) -> Sequence[str]:
        return sorted(self.interfaces) if self.running else []

    def remove_link(self, name: str) -> None:
        if self.running and name in self.interfaces:
            with self.steps.step(f"remove link {name}"):
                self.interfaces.discard(name)

    def chains(self) -> Sequence[str]:
        return sorted(self.filters) if self.running else []

    def remove_chains(self, prefixes: Sequence[str]) -> None:
        for chain in self.chains():
            start = tuple(prefixes)
            if start and chain.rpartition("/")[2].startswith(start):
                with self.steps.step(f"remove chain {chain}"):
                    del self.filters[chain]
            elif start and any(jump.startswith(start) for jump in self.filters[chain]):
                with self.steps.step(f"remove rules of {chain}"):
                    kept = tuple(jump for jump in self.filters[chain] if not jump.startswith(start))
                    self.filters[chain] = kept

    def remove_tables(self, names: Sequence[str]) -> None:
        for table in dict.fromkeys(chain.rpartition("/")[0] for chain in self.chains()):
            if table.partition("/")[2] in names:
                with self.steps.step(f"remove table {table}"):
                    inside = [chain for chain in self.filters if chain.rpartition("/")[0] == table]
                    for chain in inside:
                        del self.filters[chain]

    def snapshot(self) -> dict[str, Any]:
        return {"links": sorted(self.interfaces), "filters": dict(sorted(self.filters.items()))}
