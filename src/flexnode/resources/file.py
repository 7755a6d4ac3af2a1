"""Regular files."""

from __future__ import annotations

from flexnode.host.door import Host
from flexnode.resources.handler import Contents
from flexnode.resources.path import matches_path, observe_path, preserve_path, put_path
from flexnode.resources.state import State


class FileHandler:
    """A file is written whole, in place of whatever file or link was there; its directory exists.

    A directory in its place is replaced only if it is empty: what is in one belongs to others.
    """

    def observe(self, host: Host, name: str, want: State, contents: Contents) -> State:
        return observe_path(host.files, name)

    def matches(self, want: State, found: State, contents: Contents) -> bool:
        return matches_path(want, found, contents)

    def put(self, host: Host, name: str, state: State, contents: Contents) -> None:
        put_path(host.files, name, state, contents)

    def preserve(self, host: Host, name: str, found: State, contents: Contents) -> None:
        preserve_path(host.files, name, found, contents)
