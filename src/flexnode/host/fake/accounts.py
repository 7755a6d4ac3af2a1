"""Users and groups in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flexnode.host.door import Account
from flexnode.host.fake.steps import Steps


@dataclass
class FakeAccounts:
    """A user comes and goes with the group of the same name."""

    steps: Steps
    users: dict[str, Account] = field(default_factory=lambda: {"root": Account(name="root", home="/root")})
    groups: set[str] = field(default_factory=lambda: {"root", "adm", "systemd-journal"})

    def has_user(self, name: str) -> bool:
        return name in self.users

    def has_group(self, name: str) -> bool:
        return name in self.groups

    def add_user(self, account: Account) -> None:
        if account.name not in self.users:
            with self.steps.step(f"add user {account.name}"):
                self.users[account.name] = account
                self.groups.add(account.name)

    def add_group(self, name: str) -> None:
        if name not in self.groups:
            with self.steps.step(f"add group {name}"):
                self.groups.add(name)

    def remove_user(self, name: str) -> None:
        if name in self.users:
            with self.steps.step(f"remove user {name}"):
                del self.users[name]
                self.groups.discard(name)

    def remove_group(self, name: str) -> None:
        if name in self.groups:
            with self.steps.step(f"remove group {name}"):
                self.groups.discard(name)

    def snapshot(self) -> dict[str, Any]:
        return {"users": sorted(self.users), "groups": sorted(self.groups)}
