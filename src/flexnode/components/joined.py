"""The components that make a prepared machine the node of one cluster."""

from __future__ import annotations

from collections.abc import Callable

from flexnode.components.cluster_ca import compose_cluster_ca
from flexnode.components.cluster_server import compose_cluster_server
from flexnode.components.firewall import compose_firewall
from flexnode.components.ipv6 import compose_ipv6
from flexnode.components.join_token import compose_join_token
from flexnode.components.joining import NodeInputs
from flexnode.components.kubelet_service import compose_kubelet_service
from flexnode.components.node_proxy import compose_node_proxy
from flexnode.components.shutdown import compose_shutdown
from flexnode.resources import Resource

JOINED: tuple[Callable[[NodeInputs], tuple[Resource, ...]], ...] = (
    compose_ipv6,
    compose_firewall,
    compose_cluster_ca,
    compose_cluster_server,
    compose_join_token,
    compose_node_proxy,
    compose_shutdown,
    compose_kubelet_service,
)
"""In the order in which they are applied, as far as no dependency says otherwise."""
