"""A network that only pretends to be cleared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from flexnode.host.door import Network


@dataclass
class OverlayNetwork:
    """What was pretended to be removed is not seen any more."""

    below: Network
    _links: set[str] = field(default_factory=set)
    _prefixes: tuple[str, ...] = ()
    _tables: set[str] = field(default_factory=set)

    def links(self) -> Sequence[str]:
        return [name for name in self.below.links() if name not in self._links]

    def remove_link(self, name: str) -> None:
        self._links.add(name)

    def chains(self) -> Sequence[str]:
        return [chain for chain in self.below.chains() if not self._is_gone(chain)]

    def remove_chains(self, prefixes: Sequence[str]) -> None:
        self._prefixes = (*self._prefixes, *prefixes)

    def remove_tables(self, names: Sequence[str]) -> None:
        self._tables.update(names)

    def _is_gone(self, chain: str) -> bool:
        _family, table, name = chain.split("/", 2)
        return table in self._tables or name.startswith(self._prefixes)
