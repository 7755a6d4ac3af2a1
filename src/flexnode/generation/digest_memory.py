"""The digests of files, remembered from one process to the next.

Not worth a failure, nor a word: where it is damaged, of another version, or not to be read or written, files
are read instead.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

import msgspec

from flexnode.clock import Clock
from flexnode.digests import Digests, Known
from flexnode.errors import StateError
from flexnode.generation.directory import StateDirectory
from flexnode.generation.durable import load, save


class _Memory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: Literal[1] = 1  # of the entries: one of another version is no memory of ours
    files: dict[str, Known]


def recall_digests(directory: StateDirectory, clock: Clock) -> Digests:
    """What earlier processes found out. Writes nothing."""
    memory = None
    with suppress(StateError):
        memory = load(directory.digests, _Memory).value
    return Digests(clock=clock, known=memory.files if memory else None)


def keep_digests(directory: StateDirectory, digests: Digests) -> None:
    """Leave them to later processes, if there is anything new among them."""
    if digests.new:
        with suppress(StateError):
            save(directory.digests, _Memory(files=dict(digests.take_stock())))
