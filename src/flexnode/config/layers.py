"""Many sources, one value: layers from weakest to strongest, merged, every value with its origin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from flexnode.config.problems import Path, Problem
from flexnode.config.tree import leaves
from flexnode.config.v1 import NODE_CONFIG

DEFAULT: Final = "default"
DETECTED: Final = "detected"


@dataclass(frozen=True, kw_only=True, slots=True)
class Layer:
    """What one source says, as it stands there: a document of any version, or a part of one."""

    origin: str
    data: Mapping[str, Any] = field(repr=False)  # may hold literal secrets
    fragment: bool = False  # need not say its version: a drop-in, not a document


@dataclass(frozen=True, kw_only=True, slots=True)
class DecodedLayer:
    """What one source says, in the one shape that is merged. Literal secrets are `Secret` objects."""

    origin: str
    data: Mapping[str, Any]
    keys: Mapping[Path, str] = field(default_factory=dict)  # how the source itself calls a value
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """One source's word on a value. `key`: how the source calls it, where that is not by its path."""

    value: Any
    origin: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.origin} ({self.key})" if self.key else self.origin


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """Where a value comes from, and what it overrode, strongest first."""

    winner: Said
    overrode: tuple[Said, ...] = ()


def merge(layers: Iterable[DecodedLayer]) -> tuple[dict[str, Any], dict[Path, Provenance]]:
    """The merged data and where each of its values comes from. Maps merge, lists replace."""
    history: dict[Path, list[Said]] = {}
    for layer in layers:
        for path, value in leaves(NODE_CONFIG, layer.data):
            said = Said(value=value, origin=layer.origin, key=layer.keys.get(path, ""))
            history.setdefault(path, []).insert(0, said)
    data: dict[str, Any] = {}
    for path, (winner, *_) in history.items():
        inner = data
        for step in path[:-1]:
            inner = inner.setdefault(str(step), {})
        if winner.value == {}:
            inner.setdefault(str(path[-1]), {})
        else:
            inner[str(path[-1])] = winner.value
    provenance = {
        path: Provenance(winner=winner, overrode=tuple(others))
        for path, (winner, *others) in history.items()
        # An empty map that others added to says nothing any more.
        if winner.value != {} or not _at(data, path)
    }
    return data, provenance


def _at(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data
