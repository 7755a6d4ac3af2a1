"""Reading small text files that may not be there."""

from __future__ import annotations

from collections.abc import Iterable

from flexnode.errors import HostError
from flexnode.host.door import Files
from flexnode.host.failures import Code

GONE = frozenset({Code.MISSING, Code.NOT_DIRECTORY})
"""What a door says where nothing lies."""


def find_text(files: Files, path: str, *, besides: Iterable[str] = ()) -> str | None:
    """The text of a file; None where nothing lies there, or where the failure is one of `besides`."""
    try:
        return files.read(path).decode(errors="replace")
    except HostError as error:
        if error.code in GONE or error.code in besides:
            return None
        raise
