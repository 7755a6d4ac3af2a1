"""What the joined part of a node is composed from."""

from __future__ import annotations

from dataclasses import dataclass

from flexnode.components.inputs import MachineInputs, Parts
from flexnode.model.facts import Facts
from flexnode.model.spec import NodeSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeInputs:
    """Everything a whole node depends on."""

    spec: NodeSpec
    parts: Parts
    facts: Facts

    @property
    def machine(self) -> MachineInputs:
        return MachineInputs(machine=self.spec.machine, parts=self.parts, facts=self.facts)
