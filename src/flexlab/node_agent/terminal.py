"""What a user types, here and on the machine: each command is a step of progress under its own words."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flexlab import machine, process
from flexlab.lab import Lab
from flexlab.model import NodeSpec
from flexlab.paths import repository
from flexlab.process import Place
from flexnode.host import Completed
from flexnode.progress import Progress

PROGRAM = "aks-flex-node"


@dataclass(frozen=True, kw_only=True, slots=True)
class Terminal:
    """A lab, one of its machines, and somebody who watches."""

    lab: Lab
    node: NodeSpec
    progress: Progress

    def run_here(self, *argv: str) -> Completed:
        """A command on the machine that the lab runs on."""
        with self.progress.step(f"$ {_shown(argv)}"):
            return process.run(Place(lab=self.lab.folder), argv, timeout=600)

    def run_verb(self, *words: str, expect: tuple[int, ...] = (0,)) -> Completed:
        """A verb of the product about the cluster, from within the lab's network, as its administrator."""
        argv = (PROGRAM, *words, "--kubeconfig", str(self.lab.admin_kubeconfig))
        with self.progress.step(f"$ {_shown(argv)}"):
            program = str(Path(sys.executable).with_name(PROGRAM))
            return process.run(self.lab.require_place(), (program, *argv[1:]), timeout=120, expect=expect)

    def copy(self, source: Path, target: str) -> None:
        with self.progress.step(f"$ {_shown(('scp', '-r', str(source), f'{self.node.name}:{target}'))}"):
            machine.push(self.lab, self.node, source, target)

    def run(self, command: str, *, timeout: float = 120) -> str:
        """A command on the lab's machine, as root."""
        with self.progress.step(f"{self.node.name}# {command}"):
            return machine.run(self.lab, self.node, command, timeout=timeout).text


def _shown(argv: Sequence[str]) -> str:
    """The command as one would type it here: what interpreter runs a script is its own business."""
    text = shlex.join(argv[1:] if argv[0] == sys.executable else argv)
    return text.replace(f"{repository()}/", "").replace(f"{Path.home()}/", "~/")
