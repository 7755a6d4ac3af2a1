"""The cluster's authority: whom kubelet believes that it is the API server, and whose clients it answers."""

from __future__ import annotations

from flexnode.components.declare import directory, text_file
from flexnode.components.joining import NodeInputs
from flexnode.components.layout import CLUSTER_CA, KUBELET, KUBERNETES
from flexnode.errors import ConfigError
from flexnode.resources import Resource


def compose_cluster_ca(inputs: NodeInputs) -> tuple[Resource, ...]:
    """Found through a hash or a signed cluster-info before anything is composed, where it was not given."""
    text = inputs.spec.cluster.ca
    if not text.strip():
        raise ConfigError(
            "nothing says which authority the cluster's certificates come from",
            code="config/no-cluster-ca",
            hint="set the cluster's CA, or a hash of it: aks-flex-node cluster node-config prints both",
        )
    return (directory(f"{KUBERNETES}/pki"), text_file(CLUSTER_CA, text, read_by=(KUBELET,)))
