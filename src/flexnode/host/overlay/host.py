"""A whole machine that only pretends to be changed."""

from __future__ import annotations

from flexnode.host.command import Command, Completed
from flexnode.host.door import Host
from flexnode.host.overlay.accounts import OverlayAccounts
from flexnode.host.overlay.files import OverlayFiles
from flexnode.host.overlay.kernel import OverlayKernel
from flexnode.host.overlay.network import OverlayNetwork
from flexnode.host.overlay.packages import OverlayPackages
from flexnode.host.overlay.runtime import OverlayRuntime
from flexnode.host.overlay.units import OverlayUnits


class OverlayHost:
    """A dry run of steps that depend on each other: `below` is only read, whatever it is told."""

    def __init__(self, below: Host) -> None:
        self._below = below
        self.files = OverlayFiles(below.files)
        self.units = OverlayUnits(below.units, below.files, self.files)
        self.kernel = OverlayKernel(below.kernel)
        self.packages = OverlayPackages(below.packages)
        self.accounts = OverlayAccounts(below.accounts)
        self.network = OverlayNetwork(below.network)
        self.runtime = OverlayRuntime(below, self.units)

    def run(self, command: Command) -> Completed:
        return self._below.run(command)
