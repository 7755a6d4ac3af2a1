"""What a benchmark found out, as a value; as a table for people, as JSON for comparing runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

MISSED = "misses its bar"


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """A figure, and the figure that it is compared with. `reference` has the same unit.

    `bar`: the reference is what the figure may be at most.
    """

    name: str
    value: float
    unit: str
    compared_with: str = ""
    reference: float | None = None
    bar: bool = False

    @property
    def ratio(self) -> float | None:
        """How many times the reference this is; None where there is nothing to compare with."""
        return self.value / self.reference if self.reference else None

    @property
    def missed(self) -> bool:
        return self.bar and self.reference is not None and self.value > self.reference


def render_line(measurement: Measurement) -> str:
    """One figure, for somebody who watches."""
    line = f"{measurement.name.strip()}: {_figure(measurement.value, measurement.unit)}"
    if measurement.reference is not None:
        line += f" ({measurement.compared_with}: {_figure(measurement.reference, measurement.unit)})"
    return f"{line}, {MISSED}" if measurement.missed else line


def render_table(measurements: Sequence[Measurement]) -> str:
    """The measurements in columns, in the order in which they were made."""
    head = ("what", "value", "compared with", "value", "ratio", "")
    rows = [head, *(_cells(measurement) for measurement in measurements)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    to_the_right = (False, True, False, True, True, False)
    lines = []
    for row in rows:
        cells = zip(row, widths, to_the_right, strict=True)
        padded = (cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells)
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def render_json(measurements: Sequence[Measurement]) -> bytes:
    """By name: value, unit, compared_with, reference, ratio. No name may come twice."""
    found: dict[str, dict[str, object]] = {}
    for measurement in measurements:
        name = measurement.name.strip()  # in the table, parts of a figure are indented below it
        if name in found:
            raise ValueError(f"two measurements are named {name}")
        found[name] = {
            "value": round(measurement.value, 3),
            "unit": measurement.unit,
            "compared_with": measurement.compared_with or None,
            "reference": None if measurement.reference is None else round(measurement.reference, 3),
            "ratio": None if measurement.ratio is None else round(measurement.ratio, 3),
        }
    return msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"


def save_json(measurements: Sequence[Measurement], path: Path) -> None:
    """Write `render_json` to `path`; a reader sees the old or the new file."""
    save(render_json(measurements), path)


def save(data: bytes, path: Path) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".new")
    draft.write_bytes(data)
    os.replace(draft, path)


def _cells(measurement: Measurement) -> tuple[str, ...]:
    reference, ratio = measurement.reference, measurement.ratio
    return (
        measurement.name,
        _figure(measurement.value, measurement.unit),
        measurement.compared_with,
        "" if reference is None else _figure(reference, measurement.unit),
        "" if ratio is None else f"{ratio:.2f}",
        MISSED if measurement.missed else "",
    )


def _figure(value: float, unit: str) -> str:
    # Below a hundredth, four figures would look more exact than any of this is.
    return f"{value:.4g} {unit}" if abs(value) >= 0.01 or not value else f"{value:.2g} {unit}"
