"""Time: certificates and leases are worth nothing on a machine whose clock is wrong."""

from __future__ import annotations

from flexnode.components.declare import running_unit
from flexnode.components.inputs import MachineInputs
from flexnode.components.support import compose_package
from flexnode.resources import Resource

PACKAGE = "systemd-timesyncd"
UNIT = f"{PACKAGE}.service"


def compose_time_sync(inputs: MachineInputs) -> tuple[Resource, ...]:
    """systemd's own client, unless the user's machine already keeps time in another way."""
    if not inputs.machine.host.manage_time or inputs.facts.time_daemon:
        return ()
    packages, package = compose_package(inputs, PACKAGE)
    return (*packages, running_unit(UNIT, after=(package,)))
