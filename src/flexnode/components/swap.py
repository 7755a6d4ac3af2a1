"""Swap: off, also after a reboot."""

from __future__ import annotations

from flexnode.components.inputs import MachineInputs
from flexnode.resources import Resource
from flexnode.resources.state import Swap, Unit

ALL = "swap:all"


def compose_swap(inputs: MachineInputs) -> tuple[Resource, ...]:
    """Nothing, where the user keeps swap: kubelet is then told not to mind."""
    if not inputs.machine.host.manage_swap:
        return ()
    # The target first: nothing starts a device between the moment it is turned off and the next boot.
    target = Resource(key="unit:swap.target", want=Unit(masked=True))
    return (target, Resource(key=ALL, want=Swap(), after=(target.key,)))
