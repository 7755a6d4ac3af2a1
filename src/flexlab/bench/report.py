"""What a benchmark found out, as a value; as a table for people, as JSON for comparing runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """A figure, and the figure of the same run that it is compared with. `reference` has the same unit."""

    name: str
    value: float
    unit: str
    compared_with: str = ""
    reference: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times the reference this is; None where there is nothing to compare with."""
        return self.value / self.reference if self.reference else None


def render_table(measurements: Sequence[Measurement]) -> str:
    """The measurements in columns, in the order in which they were made."""
    head = ("what", "value", "compared with", "value", "ratio")
    rows = [head, *(_cells(measurement) for measurement in measurements)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    to_the_right = (False, True, False, True, True)
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
        if measurement.name in found:
            raise ValueError(f"two measurements are named {measurement.name}")
        found[measurement.name] = {
            "value": round(measurement.value, 3),
            "unit": measurement.unit,
            "compared_with": measurement.compared_with or None,
            "reference": measurement.reference,
            "ratio": None if measurement.ratio is None else round(measurement.ratio, 3),
        }
    return msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"


def save_json(measurements: Sequence[Measurement], path: Path) -> None:
    """Write `render_json` to `path`; a reader sees the old or the new file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".new")
    draft.write_bytes(render_json(measurements))
    os.replace(draft, path)


def _cells(measurement: Measurement) -> tuple[str, ...]:
    reference, ratio = measurement.reference, measurement.ratio
    return (
        measurement.name,
        f"{measurement.value:.4g} {measurement.unit}",
        measurement.compared_with,
        "" if reference is None else f"{reference:.4g} {measurement.unit}",
        "" if ratio is None else f"{ratio:.2f}",
    )
