"""The door to the machine: what can be asked and told is in `door`, and each kind of machine is a Host."""

from flexnode.host.command import Command, Completed, begin_anew, run
from flexnode.host.live import LiveHost
from flexnode.host.rootfs import RootfsHost

__all__ = ["Command", "Completed", "LiveHost", "RootfsHost", "begin_anew", "run"]
