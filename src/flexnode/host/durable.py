"""A file that is there whole or not at all, also after a power cut.

The temporary file lies beside its target, named after it, so that the next write of the same target finds and
removes what a killed one left.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from flexnode.host.tree import Place

_CHUNK = 1 << 20
_LONGEST = 180  # bytes of the target's name in the temporary one: names end at 255
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_file(
    place: Place, fill: Callable[[int], None], *, mode: int, uid: int | None, gid: int | None
) -> None:
    """Put a file at `place` with what `fill` writes; nobody but root reads it before it is complete.

    None as an owner leaves it to the one who runs this.
    """
    remove_abandoned(place)
    name = _temporary(place)
    file = os.open(name, _CREATE, 0o600, dir_fd=place.folder)
    try:
        try:
            fill(file)
            own(file, uid, gid)
            os.fchmod(file, mode)
            os.fsync(file)
        finally:
            os.close(file)
        os.rename(name, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=place.folder)
        raise
    sync(place.folder)


def write_link(place: Place, target: str) -> None:
    """Put a symbolic link at `place`, in place of a link or file."""
    remove_abandoned(place)
    name = _temporary(place)
    os.symlink(target, name, dir_fd=place.folder)
    try:
        os.rename(name, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=place.folder)
        raise
    sync(place.folder)


def remove_abandoned(place: Place) -> None:
    """Remove the temporary files of writers of this target that were killed."""
    start = _prefix(place)
    with readable(place.folder) as folder:
        names = os.listdir(folder)
    for name in names:
        if not name.startswith(start):
            continue
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=place.folder)


def sync(folder: int) -> None:
    """A power cut can undo what happened in a directory until the directory itself was synced."""
    with readable(folder) as opened:
        os.fsync(opened)


@contextmanager
def readable(folder: int) -> Iterator[int]:
    """Open a directory once more, so that it can be listed and synced; a walked one can only be walked."""
    opened = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    try:
        yield opened
    finally:
        os.close(opened)


def own(file: int, uid: int | None, gid: int | None) -> None:
    """Give an open file to its owner, if it is not his already: that would clear its capabilities."""
    now = os.fstat(file)
    if (uid is not None and uid != now.st_uid) or (gid is not None and gid != now.st_gid):
        os.fchown(file, -1 if uid is None else uid, -1 if gid is None else gid)


def pour(data: bytes) -> Callable[[int], None]:
    """Fill a file with bytes."""

    def fill(file: int) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(file, view) :]

    return fill


def copy(source: Path) -> Callable[[int], None]:
    """Fill a file with what is in another one."""

    def fill(file: int) -> None:
        with source.open("rb", buffering=0) as reader:
            while data := reader.read(_CHUNK):
                pour(data)(file)

    return fill


def _prefix(place: Place) -> str:
    name = os.fsencode(place.name)[:_LONGEST].decode(errors="ignore")
    return f".{name}.flexnode-"


def _temporary(place: Place) -> str:
    return _prefix(place) + os.urandom(6).hex()
