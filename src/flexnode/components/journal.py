"""Bounds for what is logged on a node.

containerd, kubelet and the units of the product log to the journal, which is bounded here. kubelet rotates
the files of containers, by settings of its own, and the agent rotates its log itself.
"""

from __future__ import annotations

from flexnode.components.declare import directory, text_file
from flexnode.components.inputs import MachineInputs
from flexnode.resources import Resource

DIRECTORY = "/etc/systemd/journald.conf.d"


def compose_journal(inputs: MachineInputs) -> tuple[Resource, ...]:
    if not inputs.machine.host.manage_journald:
        return ()
    limit = inputs.machine.host.journald_max_use
    # In memory until /var is there; the same bound, or the early boot of a node would have none.
    text = f"[Journal]\nSystemMaxUse={limit}\nRuntimeMaxUse={limit}\n"
    return (
        directory(DIRECTORY),
        text_file(f"{DIRECTORY}/90-aks-flex-node.conf", text, read_by=("systemd-journald.service",)),
    )
