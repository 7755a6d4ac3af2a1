"""The baked part of a node, as a generation: what may live in an image."""

from __future__ import annotations

from collections.abc import Iterable

from flexnode.components.baked import BAKED
from flexnode.components.inputs import MachineInputs, Parts
from flexnode.components.ordering import order
from flexnode.generation.generation import Generation, Need, compose
from flexnode.resources import Resource
from flexnode.resources.state import File, Image, Member, Packages


def compose_machine(inputs: MachineInputs) -> Generation:
    resources = baked_resources(inputs)
    return compose(order(resources), needs=needs(resources, inputs.parts), kubernetes=inputs.parts.kubernetes)


def baked_resources(inputs: MachineInputs) -> tuple[Resource, ...]:
    return tuple(resource for component in BAKED for resource in component(inputs))


def needs(resources: Iterable[Resource], parts: Parts) -> tuple[Need, ...]:
    """The artifacts that `resources` take something from, by the names that people know them by."""
    used = {digest for each in resources for digest in _artifacts(each)}
    return tuple(
        Need(sha256=each.sha256, name=str(each))
        for each in (*parts.artifacts.values(), *parts.debs)
        if each.sha256 in used
    )


def _artifacts(resource: Resource) -> tuple[str, ...]:
    match resource.want:
        case File(content=Member(artifact=digest)) | Image(archive=digest):
            return (digest,)
        case Packages(debs=debs):
            return debs
        case _:
            return ()
