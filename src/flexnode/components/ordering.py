"""What comes before what by its nature, so that no component has to say it: a unit after all that it reads, a
path after the directory that holds it.

Undo is the reverse: a unit has stopped before its files go, a directory goes last.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

import msgspec

from flexnode.resources import Phase, Resource

_PATHS = frozenset({"file", "link", "directory"})


def order(resources: Iterable[Resource]) -> tuple[Resource, ...]:
    """The same resources with these dependencies written down.

    The baked part never waits for the joined one, or an image could not be made of it.
    """
    everything = tuple(resources)
    directories = {each.name for each in everything if each.kind == "directory"}
    read: dict[str, list[Resource]] = {}
    for each in everything:
        for unit in {*each.restarts, *each.reloads}:
            read.setdefault(f"unit:{unit}", []).append(each)
    return tuple(_placed(each, directories, read.get(each.key, [])) for each in everything)


def _placed(resource: Resource, directories: set[str], read: list[Resource]) -> Resource:
    before = list(resource.after)
    if resource.kind in _PATHS and (parent := posixpath.dirname(resource.name)) in directories:
        before.append(f"directory:{parent}")
    before += [each.key for each in read if each.phase is Phase.BAKED or resource.phase is Phase.JOINED]
    # Once each, in an order that does not depend on who said it.
    return msgspec.structs.replace(resource, after=tuple(sorted(set(before))))
