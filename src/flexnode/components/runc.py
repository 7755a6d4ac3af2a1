"""runc, started anew for each container: a new one needs no restart of anything."""

from __future__ import annotations

from flexnode.components.declare import programs
from flexnode.components.inputs import MachineInputs
from flexnode.components.layout import PROGRAMS
from flexnode.resources import Resource


def compose_runc(inputs: MachineInputs) -> tuple[Resource, ...]:
    return programs(inputs.parts.require("runc"), PROGRAMS)
