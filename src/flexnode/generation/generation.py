"""The value that a node is: everything the product manages on one machine, named after its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from flexnode.errors import GenerationError
from flexnode.resources import Phase, Resource

EMPTY_ID = "empty"
"""The generation without resources: what a machine is activated to when it leaves."""


class Need(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An artifact that must be in the store before the generation can be applied."""

    sha256: str
    name: str  # what people call it, as in the catalog: component, version, architecture


class Generation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Immutable and serializable. Resources stand in the order in which they are applied."""

    resources: tuple[Resource, ...] = ()
    needs: tuple[Need, ...] = ()
    kubernetes: str = ""

    @property
    def id(self) -> str:
        """A hash of the content; secrets are in it by reference only."""
        if not self.resources:
            return EMPTY_ID
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:16]

    @property
    def joins(self) -> bool:
        """Whether it makes its machine the node of a cluster; one that does not is only prepared by it."""
        return any(each.phase is Phase.JOINED for each in self.resources)

    def find(self, key: str) -> Resource | None:
        return next((each for each in self.resources if each.key == key), None)

    def baked(self) -> Generation:
        """The part that may live in an image."""
        kept = tuple(each for each in self.resources if each.phase is Phase.BAKED)
        return Generation(resources=kept, needs=self.needs, kubernetes=self.kubernetes)


def compose(resources: Iterable[Resource], *, needs: Iterable[Need] = (), kubernetes: str = "") -> Generation:
    """Put the resources of all components in order: stable, every one after those it names in `after`.

    Two resources with one key, an unknown or circular dependency: an error that names the resources.
    """
    by_key: dict[str, Resource] = {}
    for each in resources:
        if each.key in by_key:
            raise _defect(f"two components manage {each.key}", code="generation/conflict")
        by_key[each.key] = each
    return Generation(
        resources=tuple(_sorted(by_key)),
        needs=tuple(sorted(set(needs), key=lambda need: (need.name, need.sha256))),
        kubernetes=kubernetes,
    )


def _sorted(by_key: dict[str, Resource]) -> list[Resource]:
    """Depth first, in the order given: what nothing asks to move stays where its component put it."""
    ordered: list[Resource] = []
    done: set[str] = set()

    def visit(key: str, path: tuple[str, ...]) -> None:
        if key in done:
            return
        if key in path:
            circle = " -> ".join((*path[path.index(key) :], key))
            raise _defect(f"resources wait for each other: {circle}", code="generation/circle")
        if key not in by_key:
            raise _defect(
                f"{path[-1]} comes after {key}, which nobody manages", code="generation/unknown-key"
            )
        for before in by_key[key].after:
            visit(before, (*path, key))
        done.add(key)
        ordered.append(by_key[key])

    for key in by_key:
        visit(key, ())
    return ordered


def _defect(message: str, *, code: str) -> GenerationError:
    """What no configuration can be the cause of."""
    hint = "this is a defect of aks-flex-node: please report it, with what `aks-flex-node bundle` collects"
    return GenerationError(message, code=code, hint=hint)
