"""Symbolic links."""

from __future__ import annotations

from flexnode.resources.file import FileHandler


class LinkHandler(FileHandler):
    """A link lies at a path as a file does: it replaces, and is replaced by, what lies there in one step."""
