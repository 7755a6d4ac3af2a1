"""A whole node, as a generation: the baked part, and what joins it to its cluster."""

from __future__ import annotations

import msgspec

from flexnode.components.joined import JOINED
from flexnode.components.joining import NodeInputs
from flexnode.components.machine import baked_resources, needs
from flexnode.components.ordering import order
from flexnode.generation.generation import Generation, compose
from flexnode.resources import Phase, Resource


def compose_node(inputs: NodeInputs) -> Generation:
    """Its baked part is the generation of the machine alone: an image that has that needs only the rest."""
    resources = (*baked_resources(inputs.machine), *joined_resources(inputs))
    return compose(order(resources), needs=needs(resources, inputs.parts), kubernetes=inputs.parts.kubernetes)


def joined_resources(inputs: NodeInputs) -> tuple[Resource, ...]:
    """Whatever a component of the joined part makes belongs to that part: none has to say so."""
    return tuple(
        msgspec.structs.replace(resource, phase=Phase.JOINED)
        for component in JOINED
        for resource in component(inputs)
    )
