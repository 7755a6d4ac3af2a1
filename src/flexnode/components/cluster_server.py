"""The way to the cluster, after the join: kubelet's own kubeconfig follows the configuration."""

from __future__ import annotations

from flexnode.components.declare import follow_server
from flexnode.components.joining import NodeInputs
from flexnode.components.layout import KUBECONFIG, KUBELET
from flexnode.resources import Resource


def compose_cluster_server(inputs: NodeInputs) -> tuple[Resource, ...]:
    """kubelet writes the file when it joins, and keeps in it the server that it joined by.

    The CA needs no such thing: the file names it by its path. The certificate in it stays kubelet's own.
    """
    server = inputs.spec.cluster.server
    return (follow_server(KUBECONFIG, server, read_by=(KUBELET,)),) if server else ()
