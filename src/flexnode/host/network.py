"""Interfaces and packet filter rules of the machine that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from flexnode.errors import CommandError
from flexnode.host import iptables, nftables
from flexnode.host.command import Command, Completed, run
from flexnode.host.door import FileKind, Files
from flexnode.host.iptables import LEGACY_VARIANTS, NFT_VARIANTS, Iptables
from flexnode.host.nftables import Nftables, Ruleset

_INTERFACES = "/sys/class/net"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningNetwork:
    """A program that is not installed has left no rules; iptables may have been purged after it left some,
    which nft still sees."""

    files: Files
    run: Callable[[Command], Completed] = run

    def links(self) -> Sequence[str]:
        if self.files.find(_INTERFACES) is None:
            return ()
        names = self.files.list(_INTERFACES)
        entries = ((name, self.files.find(f"{_INTERFACES}/{name}")) for name in names)
        # Beside the interfaces, which are links to devices, a bonding driver keeps a file of its own there.
        return [name for name, info in entries if info is not None and info.kind is FileKind.LINK]

    def remove_link(self, name: str) -> None:
        if name not in self.links():
            return
        try:
            self.run(Command(argv=("ip", "link", "delete", "dev", name)))
        except CommandError:
            if name in self.links():  # its pair may have gone first, and taken it along
                raise

    def chains(self) -> Sequence[str]:
        ruleset = Nftables(run=self.run).load()
        found = [str(chain) for chain in ruleset.chains] if ruleset else []
        for each in self._iptables(ruleset):
            found += [
                f"{each.variant.family}/{table.name}/{chain}"
                for table in each.load()
                for chain in table.chains
            ]
        return sorted(found)

    def remove_chains(self, prefixes: Sequence[str]) -> None:
        nft = Nftables(run=self.run)
        ruleset = nft.load()
        if ruleset:
            nft.change(nftables.render_removal(ruleset, prefixes))
        for each in self._iptables(ruleset):
            each.change(iptables.render_removal(each.load(), prefixes))

    def remove_tables(self, names: Sequence[str]) -> None:
        nft = Nftables(run=self.run)
        if ruleset := nft.load():
            nft.change(nftables.render_tables_removal(ruleset, names))

    def _iptables(self, ruleset: Ruleset | None) -> Iterator[Iptables]:
        """The variants that hold rules which nft does not show."""
        if ruleset is None:
            yield from (Iptables(variant=variant, run=self.run) for variant in NFT_VARIANTS)
        for variant in LEGACY_VARIANTS:
            if self.files.find(variant.names) is not None and self.files.read(variant.names).strip():
                yield Iptables(variant=variant, run=self.run)


class StoppedNetwork:
    """Nothing runs: no interface, no rule."""

    def links(self) -> Sequence[str]:
        return ()

    def remove_link(self, name: str) -> None:
        """There is none."""

    def chains(self) -> Sequence[str]:
        return ()

    def remove_chains(self, prefixes: Sequence[str]) -> None:
        """There are none."""

    def remove_tables(self, names: Sequence[str]) -> None:
        """There are none."""
