"""A whole machine in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flexnode.errors import CommandError
from flexnode.host.command import Command, Completed
from flexnode.host.fake.accounts import FakeAccounts
from flexnode.host.fake.files import FakeFiles
from flexnode.host.fake.kernel import FakeKernel
from flexnode.host.fake.network import FakeNetwork
from flexnode.host.fake.packages import FakePackages
from flexnode.host.fake.runtime import FakeRuntime
from flexnode.host.fake.steps import Steps
from flexnode.host.fake.stock import lay_out_debian
from flexnode.host.fake.units import FakeUnits


class FakeHost:
    """A stock Debian 12 that runs; or, with `running=False`, a root file system that does not.

    `writes` lists every change that was made to it. `hook`, which may be set later too, is called with
    "before …" and "after …" each of them; whatever it raises happens to the machine at that moment.
    """

    def __init__(self, *, hook: Callable[[str], None] | None = None, running: bool = True) -> None:
        self._steps = Steps()
        self.files = FakeFiles(self._steps)
        self.units = FakeUnits(self.files, self._steps, running)
        self.kernel = FakeKernel(self._steps, running)
        self.packages = FakePackages(self._steps)
        self.accounts = FakeAccounts(self._steps)
        self.runtime = FakeRuntime(self.units, self._steps)
        self.network = FakeNetwork(self._steps, running)
        self.answers: dict[tuple[str, ...], Completed] = {}
        lay_out_debian(self.files, self.units)
        if hook is not None:
            self.hook = hook

    @property
    def writes(self) -> list[str]:
        """Every change so far, in order; `writes.clear()` starts over."""
        return self._steps.done

    @property
    def hook(self) -> Callable[[str], None]:
        return self._steps.hook

    @hook.setter
    def hook(self, hook: Callable[[str], None]) -> None:
        self._steps.hook = hook

    def run(self, command: Command) -> Completed:
        """What `answers` has for the command line; any other program is not installed."""
        answer = self.answers.get(command.argv)
        if answer is None:
            raise CommandError(f"{command.argv[0]} was not found", code="host/command-missing")
        if answer.returncode not in command.expect:
            raise CommandError(f"{command} exited with {answer.returncode}", code="host/command-failed")
        return answer

    def snapshot(self, *, times: bool = False) -> dict[str, Any]:
        """All that two machines are compared by; `times`: the files' modification times too."""
        return {
            "files": self.files.snapshot(times=times),
            "mounts": sorted(self.files.mounts),
            "units": self.units.snapshot(),
            "kernel": self.kernel.snapshot(),
            "packages": self.packages.snapshot(),
            "accounts": self.accounts.snapshot(),
            "runtime": self.runtime.snapshot(),
            "network": self.network.snapshot(),
        }
