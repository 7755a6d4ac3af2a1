"""Running kernel parameters; the files that set them at boot are resources of their own."""

from __future__ import annotations

from flexnode.host.door import Host
from flexnode.resources.handler import Contents
from flexnode.resources.running import kernel_runs
from flexnode.resources.state import Absent, State, Sysctl

_FORWARDING = ("net.ipv4.conf.all.accept_redirects", "net.ipv4.conf.default.forwarding")
_ALONG = {
    "net.ipv4.ip_forward": _FORWARDING,
    "net.ipv4.conf.all.forwarding": _FORWARDING,
    "net.ipv6.conf.all.forwarding": ("net.ipv6.conf.default.forwarding",),
}
"""What the kernel sets by itself with a parameter. A machine that stops being a router takes redirects again,
even if its owner had forbidden them: they are remembered with the parameter, and put back after it.
"""


class SysctlHandler:
    """Absent: this kernel has no such parameter, until the module that brings it is loaded.

    A parameter that was absent before keeps its value when that is undone: it goes with its module, or at the
    next boot.
    """

    def observe(self, host: Host, name: str, want: State, contents: Contents) -> State:
        value = host.kernel.find_sysctl(name)
        if value is not None:
            along = {each: host.kernel.find_sysctl(each) for each in _ALONG.get(name, ())}
            return Sysctl(
                value=_folded(value),
                along={each: _folded(text) for each, text in along.items() if text is not None},
            )
        return Absent() if kernel_runs(host) else want

    def matches(self, want: State, found: State, contents: Contents) -> bool:
        if not isinstance(want, Sysctl):
            return True
        if not isinstance(found, Sysctl) or _folded(found.value) != _folded(want.value):
            return False
        return want.along.items() <= found.along.items()

    def put(self, host: Host, name: str, state: State, contents: Contents) -> None:
        if not isinstance(state, Sysctl):
            return
        for each, value in {name: state.value, **state.along}.items():
            found = host.kernel.find_sysctl(each)
            if found is None or _folded(found) != _folded(value):
                host.kernel.set_sysctl(each, _folded(value))

    def preserve(self, host: Host, name: str, found: State, contents: Contents) -> None:
        """The value found is all there is to keep."""


def _folded(value: str) -> str:
    return " ".join(value.split())
