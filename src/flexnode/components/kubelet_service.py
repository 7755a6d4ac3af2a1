"""kubelet's joined half: its configuration, what is special about this node, its unit, and how it leaves."""

from __future__ import annotations

from flexnode.components.cluster_server import compose_cluster_server
from flexnode.components.credential_providers import compose_credential_providers, credential_provider_flags
from flexnode.components.declare import directory, keys, quote_environment, running_unit, text_file
from flexnode.components.firewall import compose_firewall
from flexnode.components.identity import node_labels, node_name
from flexnode.components.ipv6 import compose_ipv6
from flexnode.components.joining import NodeInputs
from flexnode.components.kernel import compose_kernel
from flexnode.components.kubelet_config import render_config
from flexnode.components.layout import (
    CONTAINERD,
    KUBECONFIG,
    KUBELET,
    KUBELET_CONFIG,
    KUBELET_STATE,
    UNITS,
    drop_in,
)
from flexnode.components.preload import compose_images
from flexnode.components.support import support_tools_key
from flexnode.components.swap import compose_swap
from flexnode.resources import Resource
from flexnode.resources.state import Owned

STATE = "owned:kubelet-state"
PODS = "owned:pods"
NODE = "owned:node"


def compose_kubelet_service(inputs: NodeInputs) -> tuple[Resource, ...]:
    return (
        directory(KUBELET_CONFIG),
        text_file(f"{KUBELET_CONFIG}/config.json", render_config(inputs), read_by=(KUBELET,)),
        directory(f"{UNITS}/{KUBELET}.d"),
        text_file(drop_in(KUBELET, "10-node.conf"), render_node_flags(inputs), read_by=(KUBELET,)),
        *compose_credential_providers(inputs),
        *_compose_leaving(inputs),
        running_unit(KUBELET, after=_prerequisites(inputs)),
    )


def render_node_flags(inputs: NodeInputs) -> str:
    """A drop-in with the flags for which kubelet's configuration has no field."""
    labels = node_labels(inputs)
    flags = [f"--hostname-override={node_name(inputs)}"]
    if inputs.spec.identity.ip:
        flags.append(f"--node-ip={inputs.spec.identity.ip}")
    if labels:
        flags.append(f"--node-labels={','.join(f'{key}={labels[key]}' for key in sorted(labels))}")
    flags += credential_provider_flags(inputs)
    return f"[Service]\n{quote_environment('KUBELET_NODE_FLAGS', ' '.join(flags))}"


def _compose_leaving(inputs: NodeInputs) -> tuple[Resource, ...]:
    """What kubelet and its pods leave behind, in the reverse of the order in which it goes.

    The Node object first: should its deletion fail, a whole node is still there. Then kubelet stops, or it
    would start the pods again that are stopped next. What it mounted and wrote goes once nothing uses it.
    """
    state = directory(KUBELET_STATE, mode=0o750)
    return (
        state,
        Resource(
            key=STATE,
            want=Owned(
                slices=("kubepods.slice",),  # kubelet makes it, and never takes it away
                trees=(KUBELET_STATE, KUBECONFIG, "/var/log/pods", "/var/log/containers"),
                chains=("KUBE-",),  # kube-proxy's too
                tables=("kube-proxy",),
            ),
            # The programs that take chains and tables away are among the tools. The server in kubelet's
            # kubeconfig is needed until the Node is gone, and then goes with the file.
            after=(state.key, *support_tools_key(inputs.machine), *keys(compose_cluster_server(inputs))),
        ),
        Resource(key=PODS, want=Owned(pods=True), after=(STATE, f"unit:{CONTAINERD}")),
        Resource(key=NODE, want=Owned(node=node_name(inputs)), after=(f"unit:{KUBELET}",)),
    )


def _prerequisites(inputs: NodeInputs) -> tuple[str, ...]:
    """What kubelet looks at when it starts, and what its first pods need."""
    return (
        PODS,
        *keys(compose_images(inputs.machine)),
        *keys(compose_kernel(inputs.machine), "sysctl"),
        *keys(compose_ipv6(inputs), "sysctl"),
        *keys(compose_swap(inputs.machine), "swap"),
        *keys(compose_firewall(inputs), "unit"),
    )
