"""The machine that this process runs on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from flexnode.clock import Clock, SystemClock
from flexnode.digests import Digests
from flexnode.host.accounts import FileAccounts
from flexnode.host.apt import AptPackages
from flexnode.host.command import Command, Completed, run
from flexnode.host.door import Runtime, Units
from flexnode.host.files import TreeFiles
from flexnode.host.kernel import RunningKernel
from flexnode.host.network import RunningNetwork
from flexnode.host.systemd import Systemd
from flexnode.host.unit_links import LinkedUnits

SYSTEMD = "/run/systemd/system"
"""There while systemd is the one that runs the machine: sd_booted(3)."""


class LiveHost:
    """In a container without systemd its units are what lies on disk.

    `digests`: what others know of its files already, and want to know.
    """

    def __init__(
        self,
        *,
        run: Callable[[Command], Completed] = run,
        clock: Clock | None = None,
        digests: Digests | None = None,
    ) -> None:
        clock = clock or SystemClock()
        self._run = run
        self._runtime: Runtime | None = None
        self.files = TreeFiles(root=Path("/"), run=run, digests=digests or Digests(clock=clock))
        runs = self.files.find(SYSTEMD) is not None
        self.units: Units = Systemd(run=run) if runs else LinkedUnits(self.files)
        self.kernel = RunningKernel(run=run)
        self.packages = AptPackages(files=self.files, run=run, clock=clock)
        self.accounts = FileAccounts(files=self.files, run=run)
        self.network = RunningNetwork(files=self.files, run=run)

    @property
    def runtime(self) -> Runtime:
        if self._runtime is None:
            from flexnode.host.cri import CriRuntime  # its protocol is loaded only where it is spoken

            self._runtime = CriRuntime(run=self._run)
        return self._runtime

    def run(self, command: Command) -> Completed:
        return self._run(command)
