"""How settings are declared: each once, with its type, default, description and what a change of it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from flexnode.config.problems import Path, Report, find_similar, render_path, show_value
from flexnode.config.types import WRONG, ListOf, MapOf, ValueType

UNSET: Final = object()
"""The default of a setting that has none."""


class Effect(StrEnum):
    """What a change of a setting does to a node that has joined."""

    NOTHING = "leaves kubelet, containerd and pods alone"
    KUBELET = "restarts kubelet; pods keep running"
    CONTAINERD = "restarts containerd; pods keep running"
    SERVICES = "restarts containerd and kubelet; pods keep running"
    JOIN = "matters when the node joins; a joined node keeps what it joined with"
    NAME = "is refused while the machine is joined: it has to leave first"
    REGISTRATION = "restarts kubelet, and matters when the node joins; a joined Node keeps what it has"
    AGENT = "is taken over by the agent at once"
    UPGRADE = "puts other programs on the node, and restarts what runs them"
    VERSION = (
        "puts other programs on the node, and restarts what runs them; another minor version drains it first"
    )
    NETWORK = "drains the node, and restarts containerd"
    NEXT_FETCH = "matters at the next download"


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One setting.

    `unset` says what happens where nobody sets it; `detected`: the product can find its value out.
    """

    type: ValueType
    about: str
    effect: Effect
    default: Any = UNSET
    unset: str = ""
    detected: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """Settings that belong together; as a type, a map with fixed keys.

    `chosen`: that the section is there says something, even if it is empty. `optional`: its defaults apply
    only where somebody set something in it. `computed`: names that nobody may set, each with the reason.
    """

    about: str
    fields: Mapping[str, Setting | Section]
    chosen: bool = False
    optional: bool = False
    required: tuple[str, ...] = ()
    computed: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        return f"a map with {', '.join(self.fields)}"

    def decode(self, value: object, at: Path, report: Report) -> Any:
        if not isinstance(value, dict):
            report.add(at, "is not a map", value=show_value(value) if value is None else "")
            return WRONG
        found = {}
        for name, item in value.items():
            child = self.fields.get(name)
            if child is None:
                self._refuse(name, at, report)
                continue
            type_ = child if isinstance(child, Section) else child.type
            decoded = type_.decode(item, (*at, name), report)
            if decoded is not WRONG:
                found[name] = decoded
        for name in self.required:
            if name not in value:
                report.add((*at, name), "is missing")
        return found

    def _refuse(self, name: str, at: Path, report: Report) -> None:
        # The value of an unknown key is never shown: it may be a secret under a misspelt name.
        place = (*at, name)
        if name in self.computed:
            report.add(place, f"cannot be set: {self.computed[name]}", hint="leave it out")
            return
        similar = find_similar(name, self.fields)
        meant = render_path((*at, similar)) if similar else report.known.get(name.lower(), "")
        report.add(place, "is not a setting", hint=f"did you mean {meant}?" if meant else "")

    def schema(self) -> dict[str, Any]:
        properties = {name: _field_schema(child) for name, child in self.fields.items()}
        said = {"type": "object", "properties": properties, "additionalProperties": False}
        return {**said, "required": list(self.required)} if self.required else said


def _field_schema(child: Setting | Section) -> dict[str, Any]:
    if isinstance(child, Section):
        return {"description": child.about, **child.schema()}
    about = f"{child.about} Unset: {child.unset}." if child.unset else child.about
    said = {"description": f"{about} A change {child.effect}.", **child.type.schema()}
    return said if child.default is UNSET else {**said, "default": child.default}


def settings(section: Section, at: Path = ()) -> Iterator[tuple[Path, Setting]]:
    """Every setting below a section. Keys that the user chooses are written `*`, items of a list `[]`."""
    for name, child in section.fields.items():
        place = (*at, name)
        if isinstance(child, Section):
            yield from settings(child, place)
            continue
        yield place, child
        if (inner := entries(child)) is not None:
            mark, entry = inner
            yield from settings(entry, (*place, mark))


def entries(setting: Setting) -> tuple[str, Section] | None:
    """The fields of a setting's entries, where its value is a map or a list of maps with fixed keys."""
    if isinstance(setting.type, MapOf) and isinstance(setting.type.value, Section):
        return "*", setting.type.value
    if isinstance(setting.type, ListOf) and isinstance(setting.type.item, Section):
        return "[]", setting.type.item
    return None


def find_field(section: Section, path: Path) -> Setting | Section | None:
    """The declaration of a place; keys that the user chooses lead to what lies under them."""
    found: Setting | Section = section
    for step in path:
        if isinstance(found, Setting):
            inner = found.type
            if not isinstance(inner, MapOf):
                return None
            if not isinstance(inner.value, Section):
                found = Setting(type=inner.value, about=found.about, effect=found.effect)
                continue
            found = inner.value
            continue
        child = found.fields.get(str(step))
        if child is None:
            return None
        found = child
    return found


def leaves(section: Section, data: Mapping[str, Any], at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """What decoded data sets, one value after another: entries of maps one by one, lists as a whole.

    An empty map says something too where nobody adds to it: it is a leaf of its own.
    """
    for name, value in data.items():
        child = section.fields[name]
        place = (*at, name)
        if isinstance(child, Section):
            if not value and child.chosen:
                yield place, {}
            yield from leaves(child, value, place)
        elif isinstance(child.type, MapOf):
            if not value:
                yield place, {}
            for key, item in value.items():
                if isinstance(child.type.value, Section):
                    if not item:
                        yield (*place, key), {}
                    yield from leaves(child.type.value, item, (*place, key))
                else:
                    yield (*place, key), item
        else:
            yield place, value
