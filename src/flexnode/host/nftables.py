"""nftables: its ruleset read as JSON, changed by a script that takes effect whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flexnode.errors import CommandError
from flexnode.host.command import Command, Completed, run
from flexnode.host.failures import Code, failure

PROGRAM = "nft"
_PATIENCE = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    """One chain, and the rules in it that jump elsewhere: pairs of a rule's handle and a chain's name."""

    family: str
    table: str
    name: str
    jumps: tuple[tuple[int, str], ...] = ()

    @property
    def place(self) -> str:
        return f"{self.family} {self.table} {self.name}"

    def __str__(self) -> str:
        return f"{self.family}/{self.table}/{self.name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ruleset:
    """All tables, as pairs of family and name, and all chains."""

    tables: tuple[tuple[str, str], ...] = ()
    chains: tuple[Chain, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Nftables:
    """What iptables' newer variant writes is visible here too."""

    run: Callable[[Command], Completed] = run

    def load(self) -> Ruleset | None:
        """None where the program is not installed."""
        try:
            done = self.run(Command(argv=(PROGRAM, "--json", "list", "ruleset"), timeout=_PATIENCE))
        except CommandError as error:
            if error.code == "host/command-missing":
                return None
            raise
        return parse_ruleset(done.text)

    def change(self, script: str) -> None:
        if script:
            self.run(Command(argv=(PROGRAM, "--file", "-"), stdin=script.encode(), timeout=_PATIENCE))


def parse_ruleset(text: str) -> Ruleset:
    """The answer of `nft --json list ruleset`."""
    try:
        entries = json.loads(text)["nftables"]
        tables = tuple((each["family"], each["name"]) for each in _of(entries, "table"))
        jumps: dict[tuple[str, str, str], list[tuple[int, str]]] = {}
        for rule in _of(entries, "rule"):
            place = (rule["family"], rule["table"], rule["chain"])
            jumps.setdefault(place, []).extend((rule["handle"], target) for target in _targets(rule["expr"]))
        chains = tuple(
            Chain(
                family=each["family"],
                table=each["table"],
                name=each["name"],
                jumps=tuple(jumps.get((each["family"], each["table"], each["name"]), ())),
            )
            for each in _of(entries, "chain")
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise failure(
            Code.FILTER_ANSWER, f"nft describes its ruleset in a way that is not known: {error!r}"
        ) from error
    return Ruleset(tables=tables, chains=chains)


def render_removal(ruleset: Ruleset, prefixes: Sequence[str]) -> str:
    """The script that removes the chains with these prefixes, and other chains' rules that jump to them."""
    start = tuple(prefixes)
    doomed = [chain for chain in ruleset.chains if start and chain.name.startswith(start)]
    names = {(chain.family, chain.table, chain.name) for chain in doomed}
    lines = [f"flush chain {chain.place}" for chain in doomed]
    for chain in ruleset.chains:
        if (chain.family, chain.table, chain.name) not in names:
            handles = {handle for handle, to in chain.jumps if (chain.family, chain.table, to) in names}
            lines += [f"delete rule {chain.place} handle {handle}" for handle in sorted(handles)]
    lines += [f"delete chain {chain.place}" for chain in doomed]
    return "".join(f"{line}\n" for line in lines)


def render_tables_removal(ruleset: Ruleset, names: Sequence[str]) -> str:
    """The script that removes the tables of these names, in every family."""
    doomed = [(family, name) for family, name in ruleset.tables if name in names]
    return "".join(f"delete table {family} {name}\n" for family, name in doomed)


def _of(entries: list[dict[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    return (entry[kind] for entry in entries if kind in entry)


def _targets(value: Any) -> Iterator[str]:
    """Every chain that an expression jumps or goes to; verdict maps nest them deeper."""
    if isinstance(value, list):
        for each in value:
            yield from _targets(each)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key in ("jump", "goto") and isinstance(inner, dict) and isinstance(inner.get("target"), str):
                yield inner["target"]
            else:
                yield from _targets(inner)
