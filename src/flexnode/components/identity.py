"""Who the node is in its cluster: what kubelet registers it with."""

from __future__ import annotations

from flexnode.components.joining import NodeInputs
from flexnode.errors import ConfigError
from flexnode.model.spec import IdentitySpec

REGION = "topology.kubernetes.io/region"
ZONE = "topology.kubernetes.io/zone"


def node_name(inputs: NodeInputs) -> str:
    """The name that was given, or the machine's host name as kubelet would read it."""
    name = inputs.spec.identity.name or inputs.facts.hostname.strip().lower()
    if not name:
        raise ConfigError(
            "the node has no name: none is configured, and the machine has no host name",
            code="config/no-node-name",
            hint="set the node's name, or give the machine a host name with hostnamectl",
        )
    return name


def node_labels(inputs: NodeInputs) -> dict[str, str]:
    """What kubelet registers the node with."""
    return identity_labels(inputs.spec.identity)


def identity_labels(identity: IdentitySpec) -> dict[str, str]:
    """The user's labels, and where the node stands; what the user says of that as a label wins."""
    places = {REGION: identity.region, ZONE: identity.zone}
    return {**{key: value for key, value in places.items() if value}, **identity.labels}
