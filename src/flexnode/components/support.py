"""Debian packages: tools that a node's programs call, and that people reach for when it is ill."""

from __future__ import annotations

from flexnode.components.inputs import MachineInputs
from flexnode.resources import Resource
from flexnode.resources.state import Packages

SUPPORT_TOOLS = "packages:support-tools"


def compose_support_tools(inputs: MachineInputs) -> tuple[Resource, ...]:
    """All that the catalog lists for this release of the system."""
    if not inputs.machine.host.support_tools:
        return ()
    return (_packages("support-tools", inputs, *inputs.parts.packages),)


def support_tools_key(inputs: MachineInputs) -> tuple[str, ...]:
    """What has to be there for as long as programs of the tools may be called; nothing without the tools."""
    return (SUPPORT_TOOLS,) if inputs.machine.host.support_tools else ()


def compose_package(inputs: MachineInputs, name: str) -> tuple[tuple[Resource, ...], str]:
    """A package that one component cannot do without, and the key of what brings it.

    The support tools bring it, or it is a resource of its own where the user leaves those out.
    """
    if inputs.machine.host.support_tools and name in inputs.parts.packages:
        return (), SUPPORT_TOOLS
    resource = _packages(name, inputs, name)
    return (resource,), resource.key


def _packages(key: str, inputs: MachineInputs, *names: str) -> Resource:
    want = Packages(installed=tuple(sorted(names)), debs=inputs.parts.find_debs(names))
    return Resource(key=f"packages:{key}", want=want)
