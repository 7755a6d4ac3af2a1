"""Where a machine's files lie in its lab's folder, and the names of its processes.

QEMU and ssh run with the lab's folder as working directory and get relative paths: the kernel takes no socket
path of more than 107 characters.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flexlab.lab import Lab
from flexlab.model import NodeSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """The files of one machine."""

    lab: Lab
    node: NodeSpec

    @property
    def folder(self) -> Path:
        return self.lab.node_folder(self.node)

    @property
    def disk(self) -> Path:
        return self.folder / "disk.qcow2"

    @property
    def serial_log(self) -> Path:
        """All that the machine ever said on its serial console."""
        return self.folder / "serial.log"

    @property
    def monitor(self) -> Path:
        return self.folder / "qmp.sock"

    @property
    def console(self) -> Path:
        return self.folder / "console.sock"

    @property
    def ssh_master(self) -> Path:
        return self.folder / "ssh"

    @property
    def key(self) -> Path:
        return self.lab.ssh / "id_ed25519"

    @property
    def process(self) -> str:
        return f"machine-{self.node.name}"

    @property
    def ssh_process(self) -> str:
        return f"ssh-{self.node.name}"

    def relative(self, path: Path) -> str:
        return str(path.relative_to(self.lab.folder))
