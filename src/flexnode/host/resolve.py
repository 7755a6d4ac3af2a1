"""Walk paths by asking what lies where, as the kernel would: for file systems that are not the kernel's."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from flexnode.host.door import FileKind
from flexnode.host.failures import Code, failure

_LINKS = 40


def resolve(path: str, look: Callable[[str], tuple[FileKind, str] | None], *, follow: bool) -> str:
    """Where `path` really is, links in all of it followed, in its last part only with `follow`.

    `look` tells what lies at a path without links in it, and a link's target. A parent that is missing or no
    directory is a failure; the last part may be missing. No link leads out of the root.
    """
    if not path.startswith("/"):
        raise ValueError(f"not absolute: {path!r}")
    links = 0
    real = "/"
    ahead = _parts(path)
    while ahead:
        part = ahead.pop()
        if part == "..":
            real = posixpath.dirname(real)
            continue
        here = posixpath.join(real, part)
        found = look(here) if ahead or follow else None
        if found is None or found[0] is not FileKind.LINK:
            if ahead and found is None:
                raise failure(Code.MISSING, f"cannot reach {path}: there is no {here}")
            if ahead and found is not None and found[0] is not FileKind.DIRECTORY:
                raise failure(Code.NOT_DIRECTORY, f"cannot reach {path}: {here} is not a directory")
            real = here
            continue
        links += 1
        if links > _LINKS:
            raise failure(Code.LOOP, f"cannot reach {path}: too many levels of symbolic links")
        real = "/" if found[1].startswith("/") else real
        ahead += _parts(found[1])
    return real


def check_rename(old: str, new: str, look: Callable[[str], tuple[FileKind, str] | None]) -> None:
    """Raise where the kernel would refuse to rename; whether a target is empty is for the caller to look."""
    source, target = look(old), look(new)
    what = f"cannot rename {old} to {new}"
    if source is None:
        raise failure(Code.MISSING, f"{what}: no such file or directory")
    if new.startswith(old.rstrip("/") + "/"):
        raise failure(Code.INVALID, f"{what}: it lies in itself")
    if target is None or old == new:
        return
    if old.startswith(new.rstrip("/") + "/"):
        raise failure(Code.NOT_EMPTY, f"{what}: directory not empty")
    if source[0] is not FileKind.DIRECTORY and target[0] is FileKind.DIRECTORY:
        raise failure(Code.IS_DIRECTORY, f"{what}: is a directory")
    if source[0] is FileKind.DIRECTORY and target[0] is not FileKind.DIRECTORY:
        raise failure(Code.NOT_DIRECTORY, f"{what}: not a directory")


def _parts(path: str) -> list[str]:
    """The next one last."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]
