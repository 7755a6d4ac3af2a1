"""Small artifacts and stores to test with."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from flexnode.artifacts import Limits, Store, Stream
from flexnode.errors import ArtifactError
from flexnode.model import Arch, Artifact, Flavour, Format

QUICK = Limits(delays=(0.0, 0.0), window=0.5, min_rate=1000)
"""As patient as a test may be."""


def content(size: int, seed: int = 1) -> bytes:
    """Bytes without a pattern, the same ones each time."""
    return random.Random(seed).randbytes(size)


def artifact_of(data: bytes, **changes: object) -> Artifact:
    fields: dict[str, object] = {
        "component": "sample",
        "version": "0.0.1",
        "arch": Arch.AMD64,
        "flavour": Flavour.SOURCE,
        "format": Format.FILE,
        "sha256": hashlib.sha256(data).hexdigest(),
        **changes,
    }
    return Artifact(**fields)  # type: ignore[arg-type]


def put(store: Store, data: bytes) -> Artifact:
    """Lay `data` into a store by hand and return its artifact."""
    artifact = artifact_of(data)
    path = store.path(artifact.sha256)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return artifact


def leftovers(store: Store) -> list[str]:
    """The files beneath a store that are not finished ones."""
    finished = {store.path(digest) for digest in store.digests()}
    return [str(path) for path in store.root.rglob("*") if path.is_file() and path not in finished]


@dataclass
class ScriptedSource:
    """A source that does what its script says, one entry per opening.

    An entry is a failure, or the whole file as this source has it; `(data, failure)` breaks off after `data`.
    """

    script: list[bytes | ArtifactError | tuple[bytes, ArtifactError]]
    place: str = "scripted"
    resumes: bool = True
    offsets: list[int] = field(default_factory=list)

    def offers(self, artifact: Artifact) -> tuple[ScriptedSource, ...]:
        return (self,)

    @contextmanager
    def open(self, offset: int) -> Iterator[Stream]:
        self.offsets.append(offset)
        entry = self.script.pop(0)
        if isinstance(entry, ArtifactError):
            raise entry
        data, broken = entry if isinstance(entry, tuple) else (entry, None)
        start = offset if self.resumes else 0
        yield Stream(chunks=self._chunks(data[start:], broken), offset=start)

    def _chunks(self, data: bytes, broken: ArtifactError | None) -> Iterator[bytes]:
        for at in range(0, len(data), 65536):
            yield data[at : at + 65536]
        if broken is not None:
            raise broken


def write_file(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
