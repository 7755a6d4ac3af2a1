"""iptables: its rules read as `iptables-save` prints them, changed through `iptables-restore --noflush`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from flexnode.errors import CommandError
from flexnode.host.command import Command, Completed, run

_PATIENCE = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """One of the programs' variants, for one family."""

    family: str  # as chains are named: ip, ip6, legacy-ip, legacy-ip6
    program: str  # iptables, ip6tables-legacy …
    names: str = ""  # where the kernel lists the tables; asking for one that is not loaded would load it


NFT_VARIANTS = (
    Variant(family="ip", program="iptables-nft"),
    Variant(family="ip6", program="ip6tables-nft"),
)
LEGACY_VARIANTS = (
    Variant(family="legacy-ip", program="iptables-legacy", names="/proc/net/ip_tables_names"),
    Variant(family="legacy-ip6", program="ip6tables-legacy", names="/proc/net/ip6_tables_names"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """One table: its chains, and its rules as they were printed, beginning with -A."""

    name: str
    chains: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Iptables:
    """One variant's tables."""

    variant: Variant
    run: Callable[[Command], Completed] = run

    def load(self) -> tuple[Table, ...]:
        """Nothing where the program is not installed."""
        try:
            return parse_save(
                self.run(Command(argv=(f"{self.variant.program}-save",), timeout=_PATIENCE)).text
            )
        except CommandError as error:
            if error.code == "host/command-missing":
                return ()
            raise

    def change(self, script: str) -> None:
        if script:
            argv = (f"{self.variant.program}-restore", "--noflush", "--wait", "30")
            self.run(Command(argv=argv, stdin=script.encode(), timeout=_PATIENCE))


def parse_save(text: str) -> tuple[Table, ...]:
    """What `iptables-save` prints: *table, :CHAIN policy, -A rules, COMMIT."""
    tables: list[Table] = []
    name = ""
    chains: list[str] = []
    rules: list[str] = []
    for line in text.splitlines():
        if line.startswith("*"):
            name, chains, rules = line[1:].strip(), [], []
        elif line.startswith(":"):
            chains += line[1:].split()[:1]
        elif line.startswith("-A "):
            rules.append(line)
        elif line == "COMMIT":
            tables.append(Table(name=name, chains=tuple(chains), rules=tuple(rules)))
    return tuple(tables)


def render_removal(tables: Sequence[Table], prefixes: Sequence[str]) -> str:
    """For `iptables-restore --noflush`: what removes chains with these prefixes, and the jumps to them."""
    start = tuple(prefixes)
    parts = []
    for table in tables:
        doomed = [chain for chain in table.chains if start and chain.startswith(start)]
        jumps = [
            f"-D {rule.removeprefix('-A ')}"
            for rule in table.rules
            if rule.split(" ", 2)[1] not in doomed and find_target(rule) in doomed
        ]
        if doomed:
            lines = [*(f"-F {chain}" for chain in doomed), *jumps, *(f"-X {chain}" for chain in doomed)]
            parts.append("\n".join((f"*{table.name}", *lines, "COMMIT\n")))
    return "".join(parts)


def find_target(rule: str) -> str | None:
    """Where a rule jumps or goes to. Comments may hold anything, and are quoted."""
    try:
        words = shlex.split(rule)
    except ValueError:  # a quote without its end; if it does jump, removing the chain will say so
        return None
    return next(
        (target for flag, target in pairwise(words) if flag in ("-j", "-g", "--jump", "--goto")), None
    )
