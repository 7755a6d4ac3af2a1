"""A machine's power: on, off, cut, and around again."""

from __future__ import annotations

import shutil

from flexlab import process
from flexlab.errors import LabError
from flexlab.lab import Lab
from flexlab.machine import qmp
from flexlab.machine.accelerator import find_accelerator
from flexlab.machine.disk import find_base
from flexlab.machine.layout import Layout
from flexlab.machine.qemu import compose_argv
from flexlab.machine.ssh import drop_connection, ensure_key, run
from flexlab.model import NodeSpec
from flexlab.process import Place, Service
from flexnode.clock import Clock, SystemClock

_SYSTEM_CLOCK = SystemClock()
_BUTTON_AGAIN = 10.0
_BOOT_ID = ("cat", "/proc/sys/kernel/random/boot_id")


def is_running(lab: Lab, node: NodeSpec) -> bool:
    return bool(process.find(lab.folder, Layout(lab=lab, node=node).process))


def start(
    lab: Lab, node: NodeSpec, place: Place, *, resume_from: str = "", clock: Clock = _SYSTEM_CLOCK
) -> None:
    """Power the machine on; it has a disk and a tap. Returns when QEMU runs it, long before it answers.

    `resume_from` names a snapshot with memory: the machine goes on where it was. Does nothing when it runs.
    """
    if is_running(lab, node):
        return
    layout = Layout(lab=lab, node=node)
    drop_connection(layout)
    layout.monitor.unlink(missing_ok=True)
    base = find_base(layout)
    argv = compose_argv(layout, base, find_accelerator(base), ensure_key(lab), resume_from)
    process.start(place, Service(name=layout.process, argv=argv, log=lab.log(layout.process)))
    # QEMU makes its sockets once it has understood its words, and answers once it has loaded its state.
    deadline = clock.monotonic() + 60
    while not layout.monitor.exists():
        if not is_running(lab, node) or clock.monotonic() > deadline:
            raise _ended(layout)
        clock.sleep(0.02)
    try:
        qmp.execute(layout.monitor, "query-status", timeout=60)
    except LabError:
        if not is_running(lab, node):
            raise _ended(layout) from None
        raise


def wait_for_ssh(lab: Lab, node: NodeSpec, clock: Clock, *, timeout: float = 120) -> float:
    """Wait until the machine runs commands; returns the seconds it took from now."""
    begin = clock.monotonic()
    while True:
        try:
            run(lab, node, ("true",), timeout=timeout)
        except LabError as error:
            if not error.transient:
                raise
            if not is_running(lab, node):
                raise _ended(Layout(lab=lab, node=node)) from error
            if clock.monotonic() - begin > timeout:
                raise LabError(
                    f"{node.name} does not answer over SSH after {timeout:g} s: {error.message}",
                    code="machine/no-ssh",
                    transient=True,
                    hint=f"see {Layout(lab=lab, node=node).serial_log}",
                ) from error
            clock.sleep(0.2)
        else:
            return clock.monotonic() - begin


def power_off(lab: Lab, node: NodeSpec, clock: Clock, *, timeout: float = 180) -> None:
    """Press the power button and wait until the machine is off. Does nothing when it is."""
    layout = Layout(lab=lab, node=node)
    deadline = clock.monotonic() + timeout
    pressed = float("-inf")
    while is_running(lab, node):
        now = clock.monotonic()
        if now > deadline:
            raise LabError(
                f"{node.name} did not shut down within {timeout:g} s",
                code="machine/will-not-stop",
                hint=f"see {layout.serial_log}, or cut its power with `flexlab node power-cut {node.name}`",
            )
        if now - pressed > _BUTTON_AGAIN:  # a system that is still booting does not hear it
            pressed = now
            try:
                qmp.execute(layout.monitor, "system_powerdown")
            except LabError as error:
                if not error.transient:  # transient: it ended between our looking and our asking
                    raise
        clock.sleep(0.1)
    drop_connection(layout)


def power_cut(lab: Lab, node: NodeSpec) -> None:
    """Cut the machine's power at once. Its disk keeps what was written to it, and nothing else."""
    layout = Layout(lab=lab, node=node)
    process.kill(process.find(lab.folder, layout.process))
    drop_connection(layout)


def reboot(lab: Lab, node: NodeSpec, clock: Clock, *, timeout: float = 300) -> float:
    """Reboot from within; returns the seconds until the machine runs commands again."""
    layout = Layout(lab=lab, node=node)
    begin = clock.monotonic()
    before = run(lab, node, _BOOT_ID).text
    try:
        run(lab, node, ("systemctl", "reboot", "--no-block"))
    except LabError as error:
        if not error.transient:  # it may be gone before it has answered
            raise
        drop_connection(layout)
    while True:
        try:
            if run(lab, node, _BOOT_ID, timeout=30).text != before:
                return clock.monotonic() - begin
        except LabError as error:
            if not error.transient:
                raise
            drop_connection(layout)  # it belongs to the system that went down
        if not is_running(lab, node):
            raise _ended(layout)
        if clock.monotonic() - begin > timeout:
            raise LabError(
                f"{node.name} did not come back from its reboot within {timeout:g} s",
                code="machine/no-ssh",
                transient=True,
                hint=f"see {layout.serial_log}",
            )
        clock.sleep(0.5)


def remove(lab: Lab, node: NodeSpec) -> None:
    """Cut the machine's power and delete its disk, its snapshots and its logs."""
    power_cut(lab, node)
    layout = Layout(lab=lab, node=node)
    if layout.folder.exists():
        shutil.rmtree(layout.folder)
    lab.log(layout.process).unlink(missing_ok=True)


def _ended(layout: Layout) -> LabError:
    logs = (layout.lab.log(layout.process), layout.serial_log)
    texts = [path.read_text(errors="replace").strip()[-600:] for path in logs if path.exists()]
    said = " / ".join(text for text in texts if text) or "it said nothing"
    return LabError(
        f"{layout.node.name} is not running: {said}",
        code="machine/ended",
        hint=f"see {layout.serial_log}",
    )
