"""A file as it arrives from a source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from flexnode.model import Artifact


@dataclass(frozen=True, kw_only=True, slots=True)
class Stream:
    """The bytes of a file from `offset` on; `total` is the length of the whole file, None if nobody says."""

    chunks: Iterator[bytes]
    offset: int = 0
    total: int | None = None


class Offer(Protocol):
    """One place where a file should lie. `place` is what people are told: no password in it."""

    @property
    def place(self) -> str: ...

    def open(self, offset: int) -> AbstractContextManager[Stream]:
        """The file from `offset` on; a source that cannot skip starts at 0 and says so.

        Every failure, also while the bytes are read, is an ArtifactError.
        """
        ...


class Source(Protocol):
    """Somewhere files come from. Offering costs nothing: whether the file is there shows on opening."""

    def offers(self, artifact: Artifact) -> tuple[Offer, ...]: ...
