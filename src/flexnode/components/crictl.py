"""crictl, the tool that speaks to the runtime as kubelet does: for people, where the parts have it."""

from __future__ import annotations

from flexnode.components.declare import programs, text_file
from flexnode.components.inputs import MachineInputs
from flexnode.components.layout import CONTAINERD_SOCKET, PROGRAMS
from flexnode.resources import Resource


def compose_crictl(inputs: MachineInputs) -> tuple[Resource, ...]:
    artifact = inputs.parts.artifacts.get("crictl")
    if artifact is None:
        return ()
    config = f"runtime-endpoint: {CONTAINERD_SOCKET}\nimage-endpoint: {CONTAINERD_SOCKET}\n"
    return (*programs(artifact, PROGRAMS), text_file("/etc/crictl.yaml", config))
