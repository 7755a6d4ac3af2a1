"""Where the laboratory keeps things: a cache keyed by content, and one state folder per lab."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """Parts, packages and base images, keyed by content; deleting it costs time and nothing else."""
    if chosen := os.environ.get("FLEXLAB_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flexlab"


def labs_dir() -> Path:
    """One folder per lab; everything that a lab has on disk lies in its folder."""
    if chosen := os.environ.get("FLEXLAB_STATE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "flexlab"


def repository() -> Path:
    """The checkout this laboratory runs from: `sources/` lies there."""
    return Path(__file__).resolve().parents[2]
