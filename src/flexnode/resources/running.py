"""Whether there is anything that runs: a root file system that is being made into an image has no such thing.

A handler answers there with what was wanted: it is as good as there, and is looked at again once it runs.
"""

from __future__ import annotations

from flexnode.errors import FlexError
from flexnode.host.door import Host

BOOTED = "multi-user.target"
"""The unit that is active while systemd runs the machine."""


def kernel_runs(host: Host) -> bool:
    """Whether parameters and modules of a kernel can be asked for."""
    return host.kernel.has_module("overlay") is not None


def systemd_runs(host: Host) -> bool:
    """Whether units can be active, and with them the container runtime."""
    return host.units.find(BOOTED).active is not None


def find_images(host: Host) -> frozenset[str] | None:
    """The images in the container runtime; None while it is down."""
    try:
        return host.runtime.images()
    except FlexError as error:
        if not error.transient:
            raise
        return None
