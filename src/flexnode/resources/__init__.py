"""What a generation is made of, and how each kind of thing is observed and brought to a state."""

from flexnode.resources.describe import describe_change
from flexnode.resources.render import render_state
from flexnode.resources.resource import Change, Disruption, Phase, Resource

__all__ = ["Change", "Disruption", "Phase", "Resource", "describe_change", "render_state"]
