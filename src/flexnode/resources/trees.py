"""Directory trees that leave as a whole, without anything that lies behind a mount."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from flexnode.errors import FlexError, HostError
from flexnode.host.door import FileKind, Files
from flexnode.resources.path import real_path

_ROUNDS = 16
"""How many mounts may lie one over the other."""


def tree_is_there(files: Files, tree: str) -> bool:
    """Whether there is anything to remove. A mount point, and where a link leads to, stay: empty is gone."""
    info = files.find(tree)
    if info is None:
        return False
    real = real_path(files, tree)
    if info.kind is not FileKind.LINK and real not in files.mounts_below(real):
        return True
    target = files.find(real)
    return target is not None and target.kind is FileKind.DIRECTORY and bool(files.list(real))


def remove_trees(files: Files, trees: Iterable[str]) -> None:
    """Unmount what is mounted below the trees, then remove them: all of them, or on an error none.

    A tree that is a mount point itself is somebody's disk: it is not unmounted, and only its owner may empty
    it.
    """
    there = {tree: real_path(files, tree) for tree in trees if tree_is_there(files, tree)}
    for tree, real in there.items():
        if posixpath.dirname(real) == "/":
            raise HostError(
                f"{tree} leads to {real}, which is more than a node may remove",
                code="owned/not-ours",
                hint=f"empty {tree} yourself, and make it a directory",
            )
    for real in there.values():
        _unmount_below(files, real)
    for tree, real in there.items():
        if real in files.mounts_below(real):
            raise HostError(
                f"{tree} is a mount point: nothing of what is in it was removed",
                code="owned/mount-point",
                hint=f"if only the node used that disk, empty {tree} yourself; then try again",
            )
    for tree, real in there.items():
        _remove(files, tree, real)


def _unmount_below(files: Files, tree: str) -> None:
    for _ in range(_ROUNDS):
        mounts = [mount for mount in files.mounts_below(tree) if mount != tree]
        if not mounts:
            return
        for mount in mounts:
            try:
                files.unmount(mount)
            except FlexError as error:
                raise _still_mounted(tree, mount, error.message) from error
    raise _still_mounted(tree, mounts[0], "it is mounted again and again")


def _remove(files: Files, tree: str, real: str) -> None:
    info = files.find(tree)
    if info is not None and info.kind is FileKind.LINK:
        for entry in files.list(real):
            _remove_plain(files, f"{real}/{entry}")
    else:
        _remove_plain(files, real)


def _remove_plain(files: Files, path: str) -> None:
    info = files.find(path)
    if info is None or info.kind is not FileKind.DIRECTORY:
        files.remove(path)
    elif left := files.remove_tree(path):
        raise _still_mounted(path, left[0], "it was mounted just now")


def _still_mounted(tree: str, mount: str, reason: str) -> HostError:
    return HostError(
        f"{tree} cannot be removed while {mount} is mounted: {reason}",
        code="owned/still-mounted",
        transient=True,
        hint=f"see who uses it: fuser -vm {mount}",
    )
