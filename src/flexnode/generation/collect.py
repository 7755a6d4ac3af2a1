"""Removing what nothing refers to any more."""

from __future__ import annotations

from collections.abc import Sequence

from flexnode.generation.contents import StoredContents, referenced_files, referenced_members
from flexnode.generation.directory import StateDirectory, remove_folder
from flexnode.generation.durable import remove
from flexnode.generation.generation import Generation
from flexnode.generation.ledger import Ledger


def collect(
    directory: StateDirectory, contents: StoredContents, ledger: Ledger, keep: Sequence[Generation]
) -> None:
    """Keep these generations, with everything that they need and that the ledger refers to."""
    directory.collect_generations(each.id for each in keep)
    contents.members.collect(member for each in keep for member in referenced_members(each))
    files = frozenset(digest for each in keep for digest in referenced_files(each))
    if contents.owns_store:
        contents.store.collect(files)
    kept = ledger.blobs()
    if kept is not None:
        contents.blobs.collect(kept | files)


def forget(directory: StateDirectory, contents: StoredContents, ledger: Ledger) -> None:
    """After the machine has left: all but the state that says so."""
    sound = ledger.blobs() is not None
    ledger.clear()
    remove_folder(directory.generations)
    remove(directory.digests)
    remove_folder(directory.members)
    if contents.owns_store:
        contents.store.collect(())
    if sound:  # else one of them is an original whose name is lost: it is the user's to look through
        remove_folder(directory.blobs)
