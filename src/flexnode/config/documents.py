"""Text to data: JSON and YAML, where a key that is written twice is an error, and nothing is guessed.

YAML is read as version 1.2 reads it: `on`, `no` and `1.30` are text. Anchors, aliases, merge keys and tags
are refused: a value is what stands there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from flexnode.config.problems import Path, Problem, Report

if TYPE_CHECKING:
    from yaml import Event, Node

MOST_BYTES = 1 << 20
MOST_DEEP = 50

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,999})")


class _Doubled(dict[str, Any]):
    """A map in which keys were written twice."""

    doubled: tuple[str, ...] = ()


class Unreadable(Exception):
    """Text that is not a document at all; the message continues "this file …"."""


def parse_document(text: str, report: Report, *, yaml: bool) -> object:
    """The data that a document holds; what is wrong with its text goes into the report."""
    if len(text) > MOST_BYTES:
        report.add((), "is larger than 1 MiB: no configuration is")
        return {}
    try:
        data = parse_yaml(text) if yaml else parse_json(text)
    except Unreadable as error:
        report.add((), str(error))
        return {}
    report.problems += find_doubled(data, report.origin)
    return data


def parse_json(text: str) -> object:
    """The value that JSON text stands for."""
    import json

    try:
        data = json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise Unreadable(f"is not JSON: {error.msg}, line {error.lineno} column {error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise Unreadable(
            "is not JSON that can be read: a number is too long or it is nested too deep"
        ) from error
    if _depth(data) > MOST_DEEP:
        raise Unreadable(f"is nested more than {MOST_DEEP} levels deep")
    return data


def parse_yaml(text: str) -> object:
    """The value that YAML text stands for; None for an empty document."""
    import yaml

    class Loader(yaml.BaseLoader):
        def compose_node(self, parent: Node | None, index: int) -> Node | None:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                _refuse_at(event, "anchors and aliases are not read; write the value out")
            return super().compose_node(parent, index)

    try:
        node = Loader(text).get_single_node()
        return None if node is None else _to_data(node, 0)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1} column {mark.column + 1}" if mark else ""
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise Unreadable(f"is not YAML: {problem}{where}") from error
    except yaml.YAMLError as error:
        raise Unreadable("is not YAML: it holds characters that are not allowed") from error
    except RecursionError as error:
        raise Unreadable(f"is nested more than {MOST_DEEP} levels deep") from error


def find_doubled(data: object, origin: str, at: Path = ()) -> Iterator[Problem]:
    """A problem for each key that its map has twice."""
    if isinstance(data, dict):
        if isinstance(data, _Doubled):
            for key in data.doubled:
                hint = "keep one of them"
                yield Problem(path=(*at, key), what="is written twice", origin=origin, hint=hint)
        for key, value in data.items():
            yield from find_doubled(value, origin, (*at, key))
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from find_doubled(item, origin, (*at, index))


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    keys = [key for key, _ in pairs]
    doubled = _Doubled(found)
    doubled.doubled = tuple(key for key in found if keys.count(key) > 1)
    return doubled


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _depth(data: object) -> int:
    """How deep data is nested; without recursion, since it may be deep."""
    level: list[Any] = [data]
    depth = 0
    while level:
        depth += 1
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner += item.values()
            elif isinstance(item, list):
                inner += item
        level = inner
    return depth


def _to_data(node: Node, depth: int) -> object:
    import yaml

    if depth > MOST_DEEP:
        _refuse_at(node, f"is nested more than {MOST_DEEP} levels deep")
    if isinstance(node, yaml.MappingNode):
        _check_tag(node, "map")
        return _pairs([(_to_key(key), _to_data(value, depth + 1)) for key, value in node.value])
    if isinstance(node, yaml.SequenceNode):
        _check_tag(node, "seq")
        return [_to_data(item, depth + 1) for item in node.value]
    _check_tag(node, "str")
    return str(node.value) if getattr(node, "style", None) else _plain(node.value)


def _to_key(node: Node) -> str:
    import yaml

    if not isinstance(node, yaml.ScalarNode):
        _refuse_at(node, "a key is text")
    if node.value == "<<" and not getattr(node, "style", None):
        _refuse_at(node, "merge keys are not read; write the values out")
    _check_tag(node, "str")
    return str(node.value)


def _plain(text: str) -> object:
    """What a scalar without quotes stands for. Fractions stay text: only versions look like them."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return text.lower() == "true"
    return int(text) if _INTEGER.fullmatch(text) else text


def _check_tag(node: Node, kind: str) -> None:
    if node.tag != f"tag:yaml.org,2002:{kind}":
        _refuse_at(node, "tags are not read; leave out the word that begins with !")


def _refuse_at(place: Node | Event, problem: str) -> NoReturn:
    import yaml

    mark: Any = place.start_mark
    raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
