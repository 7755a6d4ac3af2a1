"""Users and groups that only pretend to come and go."""

from __future__ import annotations

from dataclasses import dataclass, field

from flexnode.host.door import Account, Accounts


@dataclass
class OverlayAccounts:
    """What was not pretended is as below."""

    below: Accounts
    _users: dict[str, bool] = field(default_factory=dict)
    _groups: dict[str, bool] = field(default_factory=dict)

    def has_user(self, name: str) -> bool:
        return self._users.get(name, self.below.has_user(name))

    def has_group(self, name: str) -> bool:
        return self._groups.get(name, self.below.has_group(name))

    def add_user(self, account: Account) -> None:
        self._users[account.name] = self._groups[account.name] = True

    def add_group(self, name: str) -> None:
        self._groups[name] = True

    def remove_user(self, name: str) -> None:
        self._users[name] = self._groups[name] = False

    def remove_group(self, name: str) -> None:
        self._groups[name] = False
