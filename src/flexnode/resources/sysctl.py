"""Running kernel parameters; the files that set them at boot are resources of their own."""

from __future__ import annotations

from flexnode.host.door import Host
from flexnode.resources.handler import Contents
from flexnode.resources.running import kernel_runs
from flexnode.resources.state import Absent, State, Sysctl


class SysctlHandler:
    """Absent: this kernel has no such parameter, until the module that brings it is loaded.

    A parameter that was absent before keeps its value when that is undone: it goes with its module, or at the
    next boot.
    """

    def observe(self, host: Host, name: str, want: State, contents: Contents) -> State:
        value = host.kernel.find_sysctl(name)
        if value is not None:
            return Sysctl(value=_folded(value))
        return Absent() if kernel_runs(host) else want

    def matches(self, want: State, found: State, contents: Contents) -> bool:
        if not isinstance(want, Sysctl):
            return True
        return isinstance(found, Sysctl) and _folded(found.value) == _folded(want.value)

    def put(self, host: Host, name: str, state: State, contents: Contents) -> None:
        if isinstance(state, Sysctl) and not self.matches(
            state, self.observe(host, name, state, contents), contents
        ):
            host.kernel.set_sysctl(name, _folded(state.value))

    def preserve(self, host: Host, name: str, found: State, contents: Contents) -> None:
        """The value found is all there is to keep."""


def _folded(value: str) -> str:
    return " ".join(value.split())
