"""Single machines of a running lab."""

from __future__ import annotations

from flexlab import machine, network
from flexlab.base import ensure_base
from flexlab.cluster.lock import locked
from flexlab.cluster.up import SSH_TIMEOUT, boot, compose_node
from flexlab.lab import Lab, require_lab, save_lab
from flexlab.model import NodeSpec, Suite
from flexnode.clock import Clock
from flexnode.progress import Progress


def add_node(
    lab: Lab, name: str | None, suite: Suite, progress: Progress, clock: Clock
) -> tuple[Lab, NodeSpec]:
    """Add a machine and boot it; returns when it answers over SSH."""
    with locked(lab.name):
        lab = require_lab(lab.name)
        node = compose_node(lab, name, suite)
        lab.require_place()
        lab = lab.with_nodes((*lab.spec.nodes, node))
        save_lab(lab)
    start_node(lab, node, progress, clock)
    return lab, node


def start_node(lab: Lab, node: NodeSpec, progress: Progress, clock: Clock) -> None:
    """Boot a machine; returns when it answers over SSH. Does nothing when it runs."""
    with progress.step(f"base image {node.suite}"):
        base = ensure_base(node.suite, progress=progress)
    with progress.step(f"boot {node.name}"):
        boot(lab, node, base, lab.require_place())
        machine.wait_for_ssh(lab, node, clock, timeout=SSH_TIMEOUT)


def remove_node(lab: Lab, node: NodeSpec) -> Lab:
    """Cut a machine's power and delete it with its disk. Its Node object in the cluster is not touched."""
    with locked(lab.name):
        lab = require_lab(lab.name)
        network.mend(lab, node)
        machine.remove(lab, node)
        place = lab.find_place()
        if place is not None:
            network.remove_tap(place, node)
        lab = lab.with_nodes(tuple(other for other in lab.spec.nodes if other.name != node.name))
        save_lab(lab)
    return lab
