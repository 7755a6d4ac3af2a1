"""Files that were fetched and verified before anything was changed."""

from __future__ import annotations

from pathlib import Path

from flexnode.resources.handler import Contents
from flexnode.resources.state import Blob


def staged_file(contents: Contents, sha256: str) -> Path:
    """The artifact of this digest as a file: package managers and runtimes read no bytes from us."""
    found = contents.resolve(Blob(sha256=sha256))
    if isinstance(found, bytes):
        raise TypeError(f"{sha256} was given as bytes, but a program has to read it as a file")
    return found
