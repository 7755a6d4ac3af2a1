"""Frozen data: what the layers hand to each other. Nothing here does I/O."""

from flexnode.model.artifact import Arch, Artifact, Flavour, Format, Member

__all__ = ["Arch", "Artifact", "Flavour", "Format", "Member"]
