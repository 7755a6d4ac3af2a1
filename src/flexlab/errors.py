"""What goes wrong in the laboratory."""

from flexnode.errors import FlexError


class LabError(FlexError):
    """A lab, one of its machines or one of its parts is not as asked for."""
