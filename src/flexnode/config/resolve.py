"""Layers to a resolved configuration: the node it describes, and why each value is what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from flexnode.config import v1
from flexnode.config.build import build_spec
from flexnode.config.checks import find_contradictions, find_missing
from flexnode.config.layers import DEFAULT, DETECTED, DecodedLayer, Provenance, merge
from flexnode.config.problems import InvalidConfig, Path, Problem, Report, render_path
from flexnode.config.tree import Section, Setting, find_field
from flexnode.config.types import redact
from flexnode.model.spec import NodeSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """A valid configuration. `data` is today's document without its header; secrets in it do not print."""

    spec: NodeSpec
    data: Mapping[str, Any]
    provenance: Mapping[Path, Provenance]
    warnings: tuple[Problem, ...] = ()
    files: tuple[FilePath, ...] = ()  # what was read: who follows the configuration watches these
    complete: bool = True  # what a node needs to join has been checked
    layers: tuple[DecodedLayer, ...] = field(default=(), repr=False)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)  # where systemd put credentials


def resolve(
    layers: Sequence[DecodedLayer],
    *,
    environ: Mapping[str, str] | None = None,
    complete: bool = True,
    files: tuple[FilePath, ...] = (),
    warnings: Sequence[Problem] = (),
) -> Resolved:
    """The configuration that layers give, weakest first; the defaults need not be among them.

    `complete`: whether a node must be able to join with it. Raises `InvalidConfig` with every problem of
    every layer.
    """
    problems = [problem for layer in layers for problem in layer.problems]
    data, provenance = merge([_defaults_for(layers), *layers])
    problems += find_contradictions(data, provenance)
    # What seems to be missing may be among what was not accepted.
    if not problems:
        problems += find_missing(data, complete=complete)
    if problems:
        raise InvalidConfig(problems)
    kept = {name: value for name, value in (environ or {}).items() if name == "CREDENTIALS_DIRECTORY"}
    return Resolved(
        spec=build_spec(data, kept),
        data=data,
        provenance=provenance,
        warnings=tuple([*warnings, *(warning for layer in layers for warning in layer.warnings)]),
        files=files,
        complete=complete,
        layers=tuple(layers),
        environ=kept,
    )


def fill_detected(resolved: Resolved, values: Mapping[str, Any], *, origin: str = DETECTED) -> Resolved:
    """The configuration with what was found out, by path, in the places that nobody set.

    Only settings that are declared as detected can be filled. An unacceptable value is the error of whatever
    was asked, and is reported as such.
    """
    report = Report(origin=origin)
    found: dict[str, Any] = {}
    for name, value in values.items():
        path: Path = tuple(name.split("."))
        declared = find_field(v1.NODE_CONFIG, path)
        if not isinstance(declared, Setting) or not declared.detected:
            raise ValueError(f"{name} is not a setting that is detected")
        decoded = value
        for step in reversed(path):
            decoded = {str(step): decoded}
        _join(found, v1.decode(decoded, report))
    layer = DecodedLayer(origin=origin, data=found, problems=tuple(report.problems))
    filled = resolve(
        [layer, *resolved.layers],
        environ=resolved.environ,
        complete=resolved.complete,
        files=resolved.files,
    )
    return replace(filled, warnings=resolved.warnings)


def find_origin(resolved: Resolved, path: str) -> str | None:
    """Where the value at a dotted path comes from; None where nobody set it and it has no default."""
    for known, provenance in resolved.provenance.items():
        if render_path(known) == path:
            return str(provenance.winner)
    return None


def digest(resolved: Resolved) -> str:
    """A name for the effective values: SHA-256, the same for the same values, whatever the secrets are."""
    import hashlib
    import json

    shown = redact(resolved.data)
    text = json.dumps(shown, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _defaults_for(layers: Sequence[DecodedLayer]) -> DecodedLayer:
    """The defaults, without those of optional sections in which nobody set anything."""
    used = {name for layer in layers for name, value in layer.data.items() if value}
    data = {
        name: value
        for name, value in v1.defaults().items()
        if name in used or not _is_optional(v1.NODE_CONFIG.fields[name])
    }
    return DecodedLayer(origin=DEFAULT, data=data)


def _is_optional(declared: Setting | Section) -> bool:
    return isinstance(declared, Section) and declared.optional


def _join(data: dict[str, Any], other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(data.get(key), dict):
            _join(data[key], value)
        else:
            data[key] = value
