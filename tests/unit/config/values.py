"""Values for any setting, made from its declaration: good ones that differ from the default."""

from __future__ import annotations

from typing import Any

from flexnode.config.decode import decode_layer
from flexnode.config.layers import Layer
from flexnode.config.problems import Path
from flexnode.config.resolve import resolve
from flexnode.config.types import Choice, Flag, ListOf, MapOf, SecretText, Text, Whole
from flexnode.model.spec import NodeSpec
from unit.config.samples import CA, HEADER


def other_value(type_: Any, default: Any) -> Any:
    """A good value of a type that differs from the default."""
    match type_:
        case Flag():
            return default is not True
        case Whole():
            return next(value for value in (type_.least, type_.least + 1) if value != default)
        case Choice():
            return next(option for option in type_.options if option != default)
        case SecretText():
            return other_value(type_.inner, default)
        case Text():
            examples = type_.examples or (CA,)
            return next(example for example in examples if example != default)
        case ListOf():
            return [other_value(type_.item, None)]
        case MapOf():
            return {other_value(type_.key, None): other_value(type_.value, None)}
    section: dict[str, Any] = {
        name: other_value(child.type, child.default) for name, child in type_.fields.items()
    }
    return section


def spec_of(document: dict[str, Any]) -> NodeSpec:
    return resolve([decode_layer(Layer(origin="a", data={**HEADER, **document}))], complete=False).spec


def place(path: Path, value: Any, document: dict[str, Any]) -> dict[str, Any]:
    """`value` at `path` of the document; in every list it is the first, in every map docker.io."""
    inner: Any = document
    for step in path[:-1]:
        name = "docker.io" if step == "*" else str(step)
        inner = inner[0] if step == "[]" else inner.setdefault(name, {})
    inner[str(path[-1])] = value
    return document
