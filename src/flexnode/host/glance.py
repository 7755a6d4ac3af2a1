"""A machine while nothing on it changes: units are asked for all at once, and no program is run twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from flexnode.host.command import Command, Completed
from flexnode.host.door import Accounts, Files, Host, Kernel, Network, Packages, Runtime, UnitInfo, Units


class Glance:
    """A `Host` for a look that is short. `names` are the units that it is going to ask for.

    Each question to systemd is a program, and a look has dozens. Whoever tells the units something, or makes
    a change that they may see, looks again.
    """

    def __init__(self, below: Host, names: Iterable[str]) -> None:
        self._below = below
        self.units = GlancedUnits(below=below.units, names=tuple(dict.fromkeys(names)))
        self._answers: dict[tuple[str, ...], Completed] = {}

    @property
    def files(self) -> Files:
        return self._below.files

    @property
    def kernel(self) -> Kernel:
        return self._below.kernel

    @property
    def packages(self) -> Packages:
        return self._below.packages

    @property
    def accounts(self) -> Accounts:
        return self._below.accounts

    @property
    def runtime(self) -> Runtime:
        return self._below.runtime

    @property
    def network(self) -> Network:
        return self._below.network

    def run(self, command: Command) -> Completed:
        if command.stdin or command.env or command.cwd:
            return self._below.run(command)
        if command.argv not in self._answers:
            self._answers[command.argv] = self._below.run(command)
        return self._answers[command.argv]


@dataclass(kw_only=True)
class GlancedUnits:
    """What is told to them goes through, and ends what they remember."""

    below: Units
    names: tuple[str, ...]
    _found: dict[str, UnitInfo] = field(default_factory=dict)

    def find(self, name: str) -> UnitInfo:
        return self.find_all((name,))[name]

    def find_all(self, names: Iterable[str]) -> Mapping[str, UnitInfo]:
        wanted = tuple(names)
        if any(name not in self._found for name in wanted):
            new = (name for name in (*wanted, *self.names) if name not in self._found)
            self._found |= self.below.find_all(dict.fromkeys(new))
        return {name: self._found[name] for name in wanted}

    def reload_manager(self) -> None:
        self._told().reload_manager()

    def enable(self, name: str) -> None:
        self._told().enable(name)

    def disable(self, name: str) -> None:
        self._told().disable(name)

    def mask(self, name: str) -> None:
        self._told().mask(name)

    def unmask(self, name: str) -> None:
        self._told().unmask(name)

    def start(self, name: str) -> None:
        self._told().start(name)

    def stop(self, name: str) -> None:
        self._told().stop(name)

    def restart(self, name: str) -> None:
        self._told().restart(name)

    def reload(self, name: str) -> None:
        self._told().reload(name)

    def reboot(self) -> None:
        self._told().reboot()

    def _told(self) -> Units:
        self._found.clear()
        return self.below
