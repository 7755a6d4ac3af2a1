"""Owner, mode, extended attributes and times of what lies at a place."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from flexnode.host.tree import Place

_FOREIGN = frozenset({"security.selinux", "security.evm", "security.ima"})
"""Kept by security modules, each by its own policy; who copies them breaks it."""


def read_xattrs(place: Place) -> dict[str, bytes]:
    """All that a file carries beside its content: capabilities, access lists, what users attached."""
    with _handle(place) as handle:
        try:
            names = [name for name in os.listxattr(handle) if name not in _FOREIGN]
            return {name: os.getxattr(handle, name) for name in names}
        except OSError as error:
            if error.errno in (errno.ENOTSUP, errno.ENODATA, errno.ENOENT):
                return {}
            raise


def set_attributes(
    place: Place,
    *,
    mode: int | None = None,
    owner: tuple[int | None, int | None] = (None, None),
    xattrs: Mapping[str, bytes] | None = None,
    mtime_ns: int | None = None,
) -> None:
    """Change what is given, durably. A link has an owner and times, but no mode and attributes of its own."""
    with _handle(place) as handle:
        info = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
        link = stat.S_ISLNK(info.st_mode)
        now = stat.S_IMODE(info.st_mode)
        uid, gid = (new if new is not None and new != old else -1 for new, old in _pairs(owner, info))
        if (uid, gid) != (-1, -1):
            os.chown(place.name, uid, gid, dir_fd=place.folder, follow_symlinks=False)
            mode = now if mode is None else mode  # the change of owner took the set-user-id bits away
            now = -1
        if mode is not None and mode != now and not link:
            os.chmod(handle, mode)
        if xattrs is not None and not link:
            _set_xattrs(handle, xattrs)
        if mtime_ns is not None:
            times = (info.st_atime_ns, mtime_ns)
            os.utime(place.name, ns=times, dir_fd=place.folder, follow_symlinks=False)
        if stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode):
            _sync(handle)


def _set_xattrs(handle: str, wanted: Mapping[str, bytes]) -> None:
    try:
        names = os.listxattr(handle)
    except OSError as error:
        if error.errno == errno.ENOTSUP and not wanted:
            return
        raise
    for name in names:
        if name not in wanted and name not in _FOREIGN:
            os.removexattr(handle, name)
    for name, value in wanted.items():
        if name not in names or os.getxattr(handle, name) != value:
            os.setxattr(handle, name, value)


def _pairs(owner: tuple[int | None, int | None], info: os.stat_result) -> tuple[tuple[int | None, int], ...]:
    return (owner[0], info.st_uid), (owner[1], info.st_gid)


def _sync(handle: str) -> None:
    with suppress(PermissionError):  # only root may open what nobody may read
        file = os.open(handle, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)


@contextmanager
def _handle(place: Place) -> Iterator[str]:
    """A path that names just this file, whatever happens to its name, and needs no right to read it."""
    opened = os.open(place.name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.folder)
    try:
        yield f"/proc/self/fd/{opened}"
    finally:
        os.close(opened)
