"""A machine that only pretends: reads fall through to another one, changes stay in memory."""

from flexnode.host.overlay.host import OverlayHost

__all__ = ["OverlayHost"]
