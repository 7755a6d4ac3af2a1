"""Settings from the environment and the command line: names are looked up, values parsed by their type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from flexnode.config import v1
from flexnode.config.documents import Unreadable, find_doubled, parse_json
from flexnode.config.layers import DecodedLayer
from flexnode.config.problems import Path, Report, find_similar
from flexnode.config.tree import Section, Setting, find_field
from flexnode.config.types import WRONG, Flag, ListOf, MapOf, SecretText, ValueType, Whole, holds_secret

PREFIX: Final = "FLEXNODE_"


def decode_environment(environ: Mapping[str, str]) -> list[DecodedLayer]:
    """What each FLEXNODE_A__B=… says: `__` separates levels, names are matched whatever their case."""
    layers = []
    taken: dict[Path, str] = {}
    for name in sorted(name for name in environ if name.upper().startswith(PREFIX)):
        report = Report(origin=f"environment {name}", known=v1.names())
        data: dict[str, Any] = {}
        path = _find_variable(name, report)
        if path in taken:
            report.add(path, "is set twice", hint=f"{taken[path]} means the same; keep one of them")
        elif path:
            taken[path] = name
            data = _decode(path, environ[name], report)
        layers.append(DecodedLayer(origin=report.origin, data=data, problems=tuple(report.problems)))
    return layers


def decode_sets(sets: Sequence[str]) -> list[DecodedLayer]:
    """What each `--set a.b=…` says. Below a map all that follows is one key: node.labels.example.com/a=b."""
    layers = []
    for text in sets:
        report = Report(origin="--set", known=v1.names())
        name, separator, value = text.partition("=")
        data: dict[str, Any] = {}
        if not separator or not name:
            report.add((name,) if name else (), "has no value", hint="write --set PATH=VALUE")
        else:
            path = _split_path(name)
            data = _decode(path, value, report)
            if holds_secret(data):
                hint = 'every user of the machine can read it there; say where it lies: {"file": PATH}'
                report.add(path, "is a secret on the command line", hint=hint)
                data = {}
        layers.append(DecodedLayer(origin=report.origin, data=data, problems=tuple(report.problems)))
    return layers


def variable_name(path: Path) -> str:
    """The variable of a setting: FLEXNODE_KUBELET__MAX_PODS."""
    words = (re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(step)) for step in path)
    return PREFIX + "__".join(words).upper()


def _find_variable(name: str, report: Report) -> Path:
    """The setting that a variable names; the empty path, and a problem, if there is none."""
    field: Setting | Section = v1.NODE_CONFIG
    path: Path = ()
    for word in name[len(PREFIX) :].split("__"):
        folded = word.replace("_", "").lower()
        children = field.fields if isinstance(field, Section) else {}
        match = next((child for child in children if child.lower() == folded), None)
        if match is None:
            report.add((), "is not a setting", hint=_variable_hint(word, field, path, report))
            return ()
        field, path = children[match], (*path, match)
    return path


def _variable_hint(word: str, field: Setting | Section, path: Path, report: Report) -> str:
    if isinstance(field, Setting):
        return f"{variable_name(path)} takes the value as a whole, in JSON if it is a list or a map"
    if similar := find_similar(word, field.fields):
        return f"did you mean {variable_name((*path, similar))}?"
    elsewhere = report.known.get(word.replace("_", "").lower())
    return f"did you mean {variable_name(tuple(elsewhere.split('.')))}?" if elsewhere else ""


def _split_path(name: str) -> Path:
    """The path that a dotted name means; where it leads nowhere, its words as they are."""
    field: Setting | Section | None = v1.NODE_CONFIG
    path: Path = ()
    rest = name
    while rest:
        if isinstance(field, Setting) and isinstance(field.type, MapOf):
            return (*path, rest)
        word, _, rest = rest.partition(".")
        path = (*path, word)
        field = field.fields.get(word) if isinstance(field, Section) else None
    return path


def _decode(path: Path, text: str, report: Report) -> dict[str, Any]:
    """The data that text sets at a path; nothing if it was not accepted."""
    before = len(report.problems)
    value = _parse(text, find_field(v1.NODE_CONFIG, path), path, report)
    if value is WRONG:
        return {}
    nested: Any = value
    for step in reversed(path):
        nested = {str(step): nested}
    found: dict[str, Any] = v1.NODE_CONFIG.decode(nested, (), report)
    return found if len(report.problems) == before else {}


def _parse(text: str, field: Setting | Section | None, path: Path, report: Report) -> object:
    """The value that text stands for where its setting is known; else the text."""
    type_: ValueType | None = field.type if isinstance(field, Setting) else field
    if isinstance(type_, Section | ListOf | MapOf) or (
        isinstance(type_, SecretText) and text.lstrip().startswith("{")
    ):
        try:
            value = parse_json(text)
        except Unreadable:
            report.add(path, f"is not {'a list' if isinstance(type_, ListOf) else 'a map'} in JSON")
            return WRONG
        report.problems += find_doubled(value, report.origin, path)
        return value
    if isinstance(type_, Flag) and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if isinstance(type_, Whole) and re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    return text
