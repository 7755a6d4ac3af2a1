"""Directories: they themselves, not what is in them."""

from __future__ import annotations

from flexnode.host.door import FileKind, Files, Host
from flexnode.resources.file import FileHandler
from flexnode.resources.handler import Contents
from flexnode.resources.path import observe_path, put_path, real_path
from flexnode.resources.state import Absent, Directory, Link, State


class DirectoryHandler(FileHandler):
    """A directory is made, has its mode and owner repaired, and is removed only when it is empty.

    A link that leads to a directory is as good as one: users move /opt or /var/lib/containerd to another disk
    that way, and what they have there must not vanish behind a new, empty directory.
    """

    def observe(self, host: Host, name: str, want: State, contents: Contents) -> State:
        there = None if isinstance(want, Link) else _directory_at(host.files, name)
        return observe_path(host.files, there or name)

    def put(self, host: Host, name: str, state: State, contents: Contents) -> None:
        there = _directory_at(host.files, name)
        if isinstance(state, Directory):
            put_path(host.files, there or name, state, contents)
        elif not isinstance(state, Absent) or there == name:
            put_path(host.files, name, state, contents)
        # Absent, and no directory of ours there: what somebody put in its place is theirs.


def _directory_at(files: Files, path: str) -> str | None:
    """The directory that `path` is, or that its last link leads to."""
    info = files.find(path)
    if info is not None and info.kind is FileKind.LINK:
        target = real_path(files, path)
        info, path = files.find(target), target
    return path if info is not None and info.kind is FileKind.DIRECTORY else None
