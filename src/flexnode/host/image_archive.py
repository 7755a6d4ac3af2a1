"""The names that an archive of container images gives to what is in it."""

from __future__ import annotations

import json
from pathlib import Path

from flexnode.host.failures import Code, failure

_NAME = "io.containerd.image.name"


def read_references(archive: Path) -> tuple[str, ...]:
    """The references under which containerd will know the images of an OCI archive."""
    import tarfile  # only where an archive is read

    try:
        with tarfile.open(archive) as tar:
            index = tar.extractfile("index.json")
            manifests = json.load(index)["manifests"] if index else []
        annotations = [each.get("annotations") or {} for each in manifests]
        return tuple(each[_NAME] for each in annotations if _NAME in each)
    except (OSError, tarfile.TarError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise failure(
            Code.ARCHIVE, f"{archive.name} is not an archive of container images: {error}"
        ) from error
