"""From a node back to a stock machine."""

from __future__ import annotations

from flexlab.node_agent.terminal import PROGRAM, Terminal

LEAVE_TIMEOUT = 900.0
UNINSTALL = f"/opt/{PROGRAM}/current/uninstall.sh"


def leave(terminal: Terminal) -> None:
    """Take the node out of its cluster, and the program with its configuration off the machine."""
    terminal.run(f"{PROGRAM} unbootstrap --yes", timeout=LEAVE_TIMEOUT)
    terminal.run(f"sh {UNINSTALL} --purge", timeout=300)
