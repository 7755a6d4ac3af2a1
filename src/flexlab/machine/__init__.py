"""The laboratory's machines: QEMU on a thin disk, reached over SSH, remembered with disk and memory."""

from flexlab.machine.console import attach_console
from flexlab.machine.disk import create_disk
from flexlab.machine.power import is_running, power_cut, power_off, reboot, remove, start, wait_for_ssh
from flexlab.machine.snapshot import has_snapshot, restore, snapshot
from flexlab.machine.ssh import attach_shell, pull, push, run

__all__ = [
    "attach_console",
    "attach_shell",
    "create_disk",
    "has_snapshot",
    "is_running",
    "power_cut",
    "power_off",
    "pull",
    "push",
    "reboot",
    "remove",
    "restore",
    "run",
    "snapshot",
    "start",
    "wait_for_ssh",
]
