"""Remember a machine and bring it back: its disk and, of a running one, its memory.

That is how a test gets a booted machine that nobody has touched, in the time it takes to read its memory.
"""

from __future__ import annotations

from flexlab.lab import Lab
from flexlab.machine import qmp
from flexlab.machine.disk import apply_snapshot, list_snapshots, require_snapshot, write_snapshot
from flexlab.machine.layout import Layout
from flexlab.machine.power import is_running, power_cut, start
from flexlab.machine.ssh import drop_connection, run
from flexlab.model import NodeSpec
from flexnode.clock import Clock, SystemClock

_SYSTEM_CLOCK = SystemClock()


def snapshot(lab: Lab, node: NodeSpec, name: str) -> None:
    """Remember the machine as it is, under a name; replaces what had that name. A running one goes on."""
    layout = Layout(lab=lab, node=node)
    if is_running(lab, node):
        drop_connection(layout)  # else the restored machine would wait for this connection's end
        qmp.execute_monitor(layout.monitor, f"savevm {name}")
    else:
        write_snapshot(layout, name)


def has_snapshot(lab: Lab, node: NodeSpec, name: str) -> bool:
    """Whether something of that name is remembered of the machine."""
    return any(each.name == name for each in list_snapshots(Layout(lab=lab, node=node)))


def restore(lab: Lab, node: NodeSpec, name: str, *, clock: Clock = _SYSTEM_CLOCK) -> None:
    """Bring the machine back. Taken of a running machine: it runs and answers; else it is off."""
    layout = Layout(lab=lab, node=node)
    if not require_snapshot(layout, name).has_memory:
        power_cut(lab, node)
        apply_snapshot(layout, name)
        return
    if is_running(lab, node):
        drop_connection(layout)
        qmp.execute_monitor(layout.monitor, f"loadvm {name}")
    else:
        start(lab, node, lab.require_place(), resume_from=name, clock=clock)
    # The machine's clock stood still since the snapshot, and certificates are newer than that.
    run(lab, node, ("date", "--utc", "--set", f"@{clock.now().timestamp():.3f}"))
