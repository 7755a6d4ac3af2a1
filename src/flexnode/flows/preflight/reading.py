"""Reading small text files that may not be there."""

from __future__ import annotations

from collections.abc import Sequence

from flexnode.errors import HostError
from flexnode.host import reading
from flexnode.host.door import FileKind, Host


def find_text(host: Host, path: str) -> str | None:
    """The text of a file, or None where nothing lies there."""
    return reading.find_text(host.files, path)


def find_names(host: Host, path: str) -> Sequence[str]:
    """The names in a directory; none where there is no directory."""
    try:
        return host.files.list(path)
    except HostError as error:
        if error.code in reading.GONE:
            return ()
        raise


def has_directory(host: Host, path: str) -> bool:
    info = host.files.find(path)
    return info is not None and info.kind is FileKind.DIRECTORY


def nearest_directory(host: Host, path: str) -> str:
    """`path`, or the closest directory above it that exists: where it would come to lie."""
    while path != "/" and host.files.find(path) is None:
        path = path.rpartition("/")[0] or "/"
    return path
