"""Kernel modules."""

from __future__ import annotations

from flexnode.errors import HostError
from flexnode.host.door import Host
from flexnode.host.failures import Code
from flexnode.resources.handler import Contents
from flexnode.resources.state import Absent, Module, State


class ModuleHandler:
    """A module is loaded, and unloaded again only if it was not there before.

    One that is in use by then stays, and is gone after the next boot: nothing loads it there any more.
    """

    def observe(self, host: Host, name: str, want: State, contents: Contents) -> State:
        there = host.kernel.has_module(name)
        if there is None:
            return want
        return Module() if there else Absent()

    def matches(self, want: State, found: State, contents: Contents) -> bool:
        return want == found

    def put(self, host: Host, name: str, state: State, contents: Contents) -> None:
        there = host.kernel.has_module(name)
        if isinstance(state, Module) and there is False:
            host.kernel.load_module(name)
        elif isinstance(state, Absent) and there:
            try:
                host.kernel.unload_module(name)
            except HostError as error:
                if error.code != Code.MODULE_BUSY:
                    raise

    def preserve(self, host: Host, name: str, found: State, contents: Contents) -> None:
        """Nothing to keep."""
