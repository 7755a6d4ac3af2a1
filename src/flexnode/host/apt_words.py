"""What apt and dpkg say, read: what they would do, what lies on the machine, why they failed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from flexnode.errors import HostError
from flexnode.host.door import Transaction
from flexnode.host.failures import Code, failure

_INSTALL = re.compile(r"^Inst (?P<name>\S+) (?P<old>\[\S+\] )?\(", re.MULTILINE)
_REMOVE = re.compile(r"^(?:Remv|Purg) (?P<name>\S+)", re.MULTILINE)

INSTALLED = frozenset({"installed", "triggers-awaited", "triggers-pending"})
"""States of a package that works."""

_HALF_WAY = frozenset(
    {"half-installed", "unpacked", "half-configured", "triggers-awaited", "triggers-pending"}
)

# In this order: the first that matches names the cause, what comes after it is mostly its consequence.
_CAUSES: tuple[tuple[Code, re.Pattern[str]], ...] = tuple(
    (code, re.compile(pattern))
    for code, pattern in (
        (Code.NO_SPACE, r"No space left on device|don't have enough free space"),
        (Code.READ_ONLY, r"Read-only file system"),
        (Code.PACKAGE_LOCKED, r"Could not get lock|(?:is|was) locked by another process|"
            r"Unable to acquire the dpkg|Unable to lock"),
        (Code.PACKAGE_INTERRUPTED, r"dpkg was interrupted"),
        (Code.PACKAGE_UNTRUSTED, r"NO_PUBKEY|EXPKEYSIG|is not signed|cannot be authenticated|not valid yet|"
            r"Release file .* is expired"),
        (Code.PACKAGE_DIGEST, r"Hash Sum mismatch|unexpected size|Size mismatch"),
        (Code.PACKAGE_STALE, r"\b404\b"),
        (Code.PACKAGE_NETWORK, r"Temporary failure resolving|Could not resolve|Could not connect|"
            r"Unable to connect|Connection (?:timed out|failed|refused)|Cannot initiate the connection|"
            r"Failed to fetch|Network is unreachable|\b(?:403|407|429|50[0-9])  "),
        (Code.PACKAGE_HELD, r"[Hh]eld packages were changed|held broken packages"),
        (Code.PACKAGE_UNKNOWN, r"Unable to locate package|has no installation candidate|"
            r"Couldn't find any package"),
    )
)  # fmt: skip


def parse_simulation(text: str) -> Transaction:
    """What `apt-get --simulate` prints: one with an old version in brackets is there already."""
    found = {(match["name"], bool(match["old"])) for match in _INSTALL.finditer(text)}
    return Transaction(
        installs=tuple(sorted(name for name, old in found if not old)),
        upgrades=tuple(sorted(name for name, old in found if old)),
        removes=tuple(sorted({match["name"] for match in _REMOVE.finditer(text)})),
    )


def parse_status(text: str) -> Mapping[str, str]:
    """dpkg's own table: the state of each package, such as "installed" or "config-files"."""
    states: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        key, _, value = line.partition(": ")
        if key == "Package":
            name = value.strip()
        elif key == "Status" and name:
            state = value.split()[-1]
            # One name may be there for two architectures; installed for one is installed.
            if states.get(name) not in INSTALLED:
                states[name] = state
        elif not line:
            name = ""
    return states


def is_half_way(states: Mapping[str, str]) -> bool:
    """Whether dpkg was stopped in the middle of something."""
    return any(state in _HALF_WAY for state in states.values())


_MISFITS = frozenset({Code.PACKAGE_UNKNOWN, Code.PACKAGE_HELD})


def translate_apt(words: str, what: str, *, offline: bool = False) -> HostError:
    """The failure behind what apt said while doing `what`; `offline`: with package files and no archive."""
    code = next((code for code, pattern in _CAUSES if pattern.search(words)), Code.PACKAGE_FAILED)
    if offline and code in _MISFITS:
        code, what = Code.PACKAGE_MISFIT, f"{what} from the package files at hand"
    errors = [line[2:].strip() for line in words.splitlines() if line.startswith(("E:", "W:"))]
    said = errors[0] if errors else (words.strip().splitlines() or ["no reason given"])[-1]
    return failure(code, f"cannot {what}: {said}")
