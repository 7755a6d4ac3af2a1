"""Staging: all that a generation needs is fetched, verified and unpacked before the machine is touched.

It may run long before the activation, and beside a node at work.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Protocol

from flexnode.artifacts import Store
from flexnode.generation.contents import StoredContents, referenced_files, referenced_members
from flexnode.generation.generation import Generation, Need
from flexnode.resources.state import Blob, File, Member


class Fetch(Protocol):
    """Brings artifacts into the store, from sources that a flow opened; raises a FlexError if it cannot."""

    def __call__(self, needs: Sequence[Need], /) -> None: ...


def fetch_nothing(_needs: Sequence[Need], /) -> None:
    """For a way back, which must not depend on any network: what is not in the store stays missing."""


def stage(
    target: Generation, contents: StoredContents, fetch: Fetch, *, known: Sequence[Generation] = ()
) -> None:
    """Make `target` ready to be applied without any network, or raise; nothing but the store changes.

    `known` are generations that the machine has already: what they installed needs no more room.
    """
    store = contents.store
    archives = contents.members.missing(referenced_members(target))
    missing = [need for need in target.needs if not _is_stored(need.sha256, store, opened=archives)]
    if missing:
        fetch(missing)
    names = {need.sha256: need.name for need in target.needs}
    came = frozenset(store.digests())  # nothing gets its name in there that was not hashed on its way in
    for need in missing:
        if need.sha256 not in came:
            store.require(need.sha256, name=need.name)
    for sha256 in sorted(referenced_files(target) - names.keys()):
        if contents.blobs.find(sha256) is None and not store.holds(sha256):
            store.require(sha256)
    room = sum(contents.members.size_unpacked(archive) for archive in archives)
    store.require_space(room, what="unpacking the node's files")
    for archive, members in archives.items():
        contents.members.unpack(archive, members)
    store.require_space(_installed_size(target, contents, known), what="installing the node's files")


def _is_stored(sha256: str, store: Store, *, opened: Container[str]) -> bool:
    """What is about to be opened is read now: while it can be fetched again, should it have rotted."""
    return store.find(sha256) is not None if sha256 in opened else store.holds(sha256)


def _installed_size(target: Generation, contents: StoredContents, known: Sequence[Generation]) -> int:
    """The bytes that installing takes: each file is written in full before it replaces another."""
    installed = {content for generation in known for content in _installed(generation)}
    return sum(contents.measure(content) for content in set(_installed(target)) - installed)


def _installed(generation: Generation) -> list[Member | Blob]:
    contents = (each.want.content for each in generation.resources if isinstance(each.want, File))
    return [each for each in contents if isinstance(each, Member | Blob)]
