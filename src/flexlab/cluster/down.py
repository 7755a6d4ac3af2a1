"""Take a lab down: nothing of it stays."""

from __future__ import annotations

import shutil

from flexlab import process
from flexlab.cluster.lock import lock_path, locked
from flexlab.errors import LabError
from flexlab.model import parse_name
from flexlab.paths import labs_dir
from flexnode.clock import Clock


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
