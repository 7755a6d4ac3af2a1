"""Follow links by asking what lies where: for file systems that are not the kernel's."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from flexnode.host.failures import Code, failure

_LINKS = 40


def resolve(path: str, find_target: Callable[[str], str | None], *, follow: bool) -> str:
    """Where `path` really is, links in all of it followed, in its last part only with `follow`.

    `find_target` gives a link's target, None for all else. No link leads out of the root.
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
        target = find_target(here) if ahead or follow else None
        if target is None:
            real = here
            continue
        links += 1
        if links > _LINKS:
            raise failure(Code.LOOP, f"cannot reach {path}: too many levels of symbolic links")
        if target.startswith("/"):
            real = "/"
        ahead += _parts(target)
    return real


def _parts(path: str) -> list[str]:
    """The next one last."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]
