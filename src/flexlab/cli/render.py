"""A lab's status as text."""

from __future__ import annotations

import msgspec

from flexlab.cluster import LabStatus, NodeStatus


def render_status(status: LabStatus) -> str:
    """What runs, where it is reached, what is broken on purpose, and what one can do with it."""
    lines = [
        f"lab {status.name}: Kubernetes {status.kubernetes}, "
        f"API server {'ready' if status.api_ready else 'NOT ready'} at {status.api_server}",
        *(_render_node(node) for node in status.nodes),
        *(f"  {name:<14} {url}" for name, url in status.services.items()),
    ]
    faults = msgspec.to_builtins(status.gateway_faults)
    lines += [f"  fault          {name}: {value}" for name, value in faults.items()]
    lines += [
        f"  fault          artifacts: {fault}" for fault in map(msgspec.to_builtins, status.artifact_faults)
    ]
    return "\n".join(lines)


def _render_node(node: NodeStatus) -> str:
    line = f"  {node.name:<14} {node.address:<14} {node.suite:<9} {'running' if node.running else 'off'}"
    if node.impairment is None:
        return line
    return f"{line}, bad line: {msgspec.to_builtins(node.impairment)}"
