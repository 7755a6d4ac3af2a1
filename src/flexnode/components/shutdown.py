"""Graceful shutdown: systemd waits for as long as kubelet needs to end its pods."""

from __future__ import annotations

import re

from flexnode.components.declare import directory, text_file
from flexnode.components.joining import NodeInputs
from flexnode.resources import Resource

DIRECTORY = "/etc/systemd/logind.conf.d"
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)")


def compose_shutdown(inputs: NodeInputs) -> tuple[Resource, ...]:
    """The very file that kubelet would write itself, so that it leaves with the node.

    kubelet looks at what systemd-logind has in force, writes the file again if that is too short, and has it
    read. Nothing needs to be restarted for it here.
    """
    seconds = parse_duration(inputs.spec.kubelet.shutdown_grace_period)
    if not seconds:
        return ()
    text = f"# Kubelet logind override\n[Login]\nInhibitDelayMaxSec={seconds:.0f}\n"
    return (directory(DIRECTORY), text_file(f"{DIRECTORY}/99-kubelet.conf", text))


def parse_duration(text: str) -> float:
    """Seconds of a duration as Kubernetes writes it: 30s, 1m30s, 0."""
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
