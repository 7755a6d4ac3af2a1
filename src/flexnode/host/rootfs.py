"""A root file system in a directory, that does not run: an image being made, or a machine's disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from flexnode.host.accounts import FileAccounts
from flexnode.host.apt import AptPackages
from flexnode.host.command import Command, Completed, run
from flexnode.host.failures import Code, failure
from flexnode.host.files import TreeFiles
from flexnode.host.kernel import StoppedKernel
from flexnode.host.network import StoppedNetwork
from flexnode.host.owners import this_process
from flexnode.host.unit_links import LinkedUnits


class StoppedRuntime:
    """No runtime runs: what is preloaded is imported when the machine first starts."""

    def images(self) -> frozenset[str]:
        return frozenset()

    def import_image(self, archive: Path) -> None:
        """Nothing to import it."""

    def pull_image(self, reference: str) -> None:
        """Nothing to pull it."""

    def remove_image(self, reference: str) -> None:
        """There is none."""

    def stop_all_pods(self) -> Sequence[str]:
        return ()

    def try_sandbox(self) -> None:
        """Nothing to try."""


class RootfsHost:
    """Its programs are run with the directory as their root, which takes root's rights and its architecture.

    Without root's rights everything else works too: files that this user owns are shown as root's.
    """

    def __init__(self, root: Path, *, run: Callable[[Command], Completed] = run) -> None:
        if not root.is_dir():
            raise failure(Code.MISSING, f"there is no root file system at {root}")
        self.root = root.resolve()
        self._run = run
        self.files = TreeFiles(root=self.root, owners=this_process(), run=run)
        self.units = LinkedUnits(self.files)
        self.kernel = StoppedKernel()
        self.packages = AptPackages(files=self.files, run=self.run)
        self.accounts = FileAccounts(files=self.files, run=run, root=self.root)
        self.runtime = StoppedRuntime()
        self.network = StoppedNetwork()

    def run(self, command: Command) -> Completed:
        """Run a program of that root file system in it."""
        return self._run(replace(command, argv=("chroot", str(self.root), *command.argv), cwd=None))
