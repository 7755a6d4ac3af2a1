"""System users and groups."""

from __future__ import annotations

from flexnode.host.door import Account, Host
from flexnode.resources.handler import Contents
from flexnode.resources.state import Absent, Group, State, User


class UserHandler:
    """A user is there or not: what an existing one looks like is its owner's affair.

    Its home is only named, neither made nor removed.
    """

    def observe(self, host: Host, name: str, want: State, contents: Contents) -> State:
        if not host.accounts.has_user(name):
            return Absent()
        return want if isinstance(want, User) else User()

    def matches(self, want: State, found: State, contents: Contents) -> bool:
        return isinstance(want, User) == isinstance(found, User)

    def put(self, host: Host, name: str, state: State, contents: Contents) -> None:
        there = host.accounts.has_user(name)
        if isinstance(state, User) and not there:
            host.accounts.add_user(Account(name=name, home=state.home, shell=state.shell))
        elif isinstance(state, Absent) and there:
            host.accounts.remove_user(name)

    def preserve(self, host: Host, name: str, found: State, contents: Contents) -> None:
        """Nothing to keep."""


class GroupHandler:
    """A group is there or not."""

    def observe(self, host: Host, name: str, want: State, contents: Contents) -> State:
        return Group() if host.accounts.has_group(name) else Absent()

    def matches(self, want: State, found: State, contents: Contents) -> bool:
        return want == found

    def put(self, host: Host, name: str, state: State, contents: Contents) -> None:
        there = host.accounts.has_group(name)
        if isinstance(state, Group) and not there:
            host.accounts.add_group(name)
        elif isinstance(state, Absent) and there:
            host.accounts.remove_group(name)

    def preserve(self, host: Host, name: str, found: State, contents: Contents) -> None:
        """Nothing to keep."""
