"""A whole lab: brought up, looked at, taken down."""

from flexlab.cluster.down import list_remains, take_down
from flexlab.cluster.nodes import add_node, remove_node, start_node
from flexlab.cluster.observe import LabStatus, NodeStatus, observe
from flexlab.cluster.up import Request, bring_up, make_supplies, parts_of

__all__ = [
    "LabStatus",
    "NodeStatus",
    "Request",
    "add_node",
    "bring_up",
    "list_remains",
    "make_supplies",
    "observe",
    "parts_of",
    "remove_node",
    "start_node",
    "take_down",
]
