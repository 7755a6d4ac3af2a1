"""Graceful shutdown: systemd waits for as long as kubelet needs to end its pods."""

from __future__ import annotations

from flexnode.components.declare import directory, text_file
from flexnode.components.joining import NodeInputs
from flexnode.duration import parse_duration
from flexnode.resources import Resource

DIRECTORY = "/etc/systemd/logind.conf.d"


def compose_shutdown(inputs: NodeInputs) -> tuple[Resource, ...]:
    """The very file that kubelet would write itself, so that it leaves with the node.

    kubelet looks at what systemd-logind has in force, writes the file again if that is too short, and has it
    read. Nothing needs to be restarted for it here.
    """
    period = inputs.spec.kubelet.shutdown_grace_period
    seconds = parse_duration(period) if period not in ("", "0") else 0.0
    if not seconds:
        return ()
    text = f"# Kubelet logind override\n[Login]\nInhibitDelayMaxSec={seconds:.0f}\n"
    return (directory(DIRECTORY), text_file(f"{DIRECTORY}/99-kubelet.conf", text))
