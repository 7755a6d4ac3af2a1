"""What a source says it holds: the manifest of a bundle, of a directory, or of a mirror."""

from __future__ import annotations

from flexnode.artifacts.failures import Code, failure
from flexnode.artifacts.manifest import MANIFEST, Manifest, parse_manifest
from flexnode.artifacts.sources import Bundle, Directory, Mirror
from flexnode.artifacts.stream import Source

_NOTHING_THERE = (403, 404, 405, 410)
"""What servers say of a file that they do not have; some do not tell that from one that nobody may read."""


def find_manifest(source: Source) -> Manifest | None:
    """None where it lists nothing. An ArtifactError where it cannot be asked, or answers nonsense."""
    match source:
        case Bundle(index=index):
            return index.manifest
        case Directory(files=files):
            path = files.parent / MANIFEST
            try:
                return parse_manifest(path.read_bytes(), str(path))
            except FileNotFoundError:
                return None
            except OSError as error:
                raise failure(Code.UNREADABLE, f"{path} cannot be read: {error.strerror or error}") from error
        case Mirror():
            return _ask(source)
        case _:
            return None


def _ask(mirror: Mirror) -> Manifest | None:
    from flexnode.artifacts.translate import translate_status  # imports httpx, which takes a while

    url = f"{mirror.base.rstrip('/')}/{MANIFEST}"
    status, _, content = mirror.door.get_document(url, login=mirror.login)
    if status in _NOTHING_THERE:
        return None
    if status != 200:
        raise translate_status(status)
    return parse_manifest(content, url)
