"""The door to the machine: programs and, later, files."""

from flexnode.host.command import Command, Completed, run

__all__ = ["Command", "Completed", "run"]
