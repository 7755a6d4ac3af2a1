"""Events on a Node: what `kubectl describe node` shows at its end."""

from __future__ import annotations

from enum import StrEnum

from flexnode.clock import Clock
from flexnode.kube.nodes import Node
from flexnode.kube.request import Api, with_body
from flexnode.kube.time_format import render_time

EVENTS = "/api/v1/namespaces/default/events"
COMPONENT = "aks-flex-node"
MAX_MESSAGE = 1024
"""The API refuses longer ones."""


class Severity(StrEnum):
    """How an event is shown."""

    NORMAL = "Normal"
    WARNING = "Warning"


def record_event(
    api: Api,
    node: Node,
    *,
    reason: str,
    message: str,
    clock: Clock,
    severity: Severity = Severity.NORMAL,
) -> None:
    """Record an event on the node. `reason` is one word in CamelCase; a long message is cut."""
    now = clock.now()
    api.send(
        with_body(
            "POST",
            EVENTS,
            {
                "apiVersion": "v1",
                "kind": "Event",
                # Events of things without a namespace lie in `default`, under a name of their own.
                "metadata": {"name": f"{node.name}.{int(now.timestamp() * 1e6):x}", "namespace": "default"},
                "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid},
                "reason": reason,
                "message": message[:MAX_MESSAGE],
                "type": severity.value,
                "source": {"component": COMPONENT, "host": node.name},
                "firstTimestamp": render_time(now),
                "lastTimestamp": render_time(now),
                "count": 1,
            },
        )
    )
