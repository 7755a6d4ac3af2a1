"""A configuration as text: the document, or every value with its origin. Secrets are never in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flexnode.config import v1
from flexnode.config.layers import Provenance, Said
from flexnode.config.problems import Path, render_path
from flexnode.config.resolve import Resolved
from flexnode.config.tree import Section, settings
from flexnode.config.types import MapOf, redact
from flexnode.secret import Secret

_WIDEST = 48  # columns that a value gets before its origin follows


def make_document(data: Mapping[str, Any]) -> dict[str, Any]:
    """Data as a document of today's version, its sections in their order, secrets redacted."""
    ordered = _arrange(v1.NODE_CONFIG, data)
    return {**v1.HEADER, **{name: redact(value) for name, value in ordered.items() if value}}


def reveal_document(data: Mapping[str, Any]) -> dict[str, Any]:
    """The same with its secrets in it: for a file that nobody else can read, and for nothing else."""
    ordered = _arrange(v1.NODE_CONFIG, data)
    return {**v1.HEADER, **{name: _reveal(value) for name, value in ordered.items() if value}}


def render_yaml(document: Mapping[str, Any]) -> str:
    """A document in YAML, without a newline at its end."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Texts of several lines as they are, everything else on one line each."""

    def represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        style = "|" if "\n" in text else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent_text)
    text = yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=10_000)
    return text.rstrip("\n")


def render_json(document: Mapping[str, Any]) -> str:
    """A document in JSON, without a newline at its end."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def make_origins(resolved: Resolved) -> dict[str, Any]:
    """Every value by its path, with where it comes from and what it overrode."""
    return {
        render_path(path): {
            "value": redact(provenance.winner.value),
            "origin": str(provenance.winner),
            "overrode": [{"value": redact(said.value), "origin": str(said)} for said in provenance.overrode],
        }
        for path, provenance in _in_order(resolved)
    }


def render_origins(resolved: Resolved) -> str:
    """One line for each value with its origin, and one below it for each that it overrode."""
    rows: list[tuple[str, str, str]] = []
    for path, provenance in _in_order(resolved):
        rows.append((render_path(path), _show(provenance.winner), str(provenance.winner)))
        rows += [("", "", f"over {_show(said)} from {said}") for said in provenance.overrode]
    names = max((len(name) for name, _, _ in rows), default=0)
    values = min(max((len(value) for _, value, _ in rows), default=0), _WIDEST)
    return "\n".join(f"{name:<{names}}  {value:<{values}}  {origin}" for name, value, origin in rows)


def _in_order(resolved: Resolved) -> list[tuple[Path, Provenance]]:
    """Sections and settings in the order of their declaration, keys that users chose by name."""
    order = {name: number for number, name in enumerate(v1.NODE_CONFIG.fields)}
    declared = {path: number for number, path in enumerate(_declared())}

    def rank(path: Path) -> tuple[int, int, str]:
        known = next((declared[path[:end]] for end in range(len(path), 0, -1) if path[:end] in declared), -1)
        return order[str(path[0])], known, render_path(path)

    return sorted(resolved.provenance.items(), key=lambda item: rank(item[0]))


def _reveal(value: Any) -> Any:
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, Mapping):
        return {key: _reveal(item) for key, item in value.items()}
    return [_reveal(item) for item in value] if isinstance(value, list) else value


def _arrange(section: Section, data: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in the order of their declaration, keys that users chose by name."""
    found: dict[str, Any] = {}
    for name, child in section.fields.items():
        if name not in data:
            continue
        value = data[name]
        if isinstance(child, Section):
            found[name] = _arrange(child, value)
        elif isinstance(child.type, MapOf):
            inner = child.type.value
            found[name] = {
                key: _arrange(inner, value[key]) if isinstance(inner, Section) else value[key]
                for key in sorted(value)
            }
        else:
            found[name] = value
    return found


def _declared() -> list[Path]:
    return [path for path, _ in settings(v1.NODE_CONFIG)]


def _show(said: Said) -> str:
    """A value on one line, of a longer one its beginning."""
    value = redact(said.value)
    if isinstance(value, str) and value and value == value.strip():
        first, newline, _ = value.partition("\n")
        return first[: _WIDEST - 2] + " …" if newline or len(first) > _WIDEST else first
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 2] + " …"
