"""Take a lab down: nothing of it stays."""

from __future__ import annotations

import shutil

from flexlab import process
from flexlab.cluster.lock import lock_path, locked
from flexlab.errors import LabError
from flexlab.model import NAME, parse_name
from flexlab.paths import labs_dir
from flexnode.clock import Clock


def list_remains() -> list[str]:
    """The names of all labs of which anything is left: a folder, or a process that carries their mark."""
    folder = labs_dir()
    folders = [each for each in folder.iterdir() if each.is_dir()] if folder.is_dir() else []
    working = [lab for lab in process.find_labs() if lab.parent == folder]
    return sorted({each.name for each in (*folders, *working) if NAME.fullmatch(each.name)})


def take_down(name: str, clock: Clock) -> bool:
    """End every process of the lab and delete its folder; False when there was nothing of it.

    It needs no readable `lab.json`: what a killed `up` left is found by the mark that its processes carry.
    """
    folder = labs_dir() / parse_name(name, "lab name")
    with locked(name):
        running = process.find(folder)
        existed = bool(running) or folder.exists()
        deadline = clock.monotonic() + 60
        while running:
            process.kill(running)  # nothing that they could still write is kept
            running = process.find(folder)  # what one of them started in the meantime
            if running and clock.monotonic() > deadline:
                raise LabError(
                    f"processes of lab {name} do not end: {', '.join(str(daemon.pid) for daemon in running)}",
                    code="lab/will-not-end",
                    hint="look at them with ps; one may hang in the kernel",
                )
        if folder.exists():
            shutil.rmtree(folder)
        lock_path(name).unlink(missing_ok=True)
    return existed
