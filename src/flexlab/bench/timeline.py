"""A timeline as one self-contained SVG: a row for each step, a scale in seconds, and what was waited for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from flexlab.bench.steps import Row

WIDTH = 1180
LABELS = 330
"""How wide the column of the labels is; a longer one loses its middle."""

LABEL_LETTERS = 46
FIGURES = 70
"""Room at the right for the figure beside a bar that reaches the end."""

HEAD, ROW, FOOT = 64, 22, 40
TICKS = 12
"""At most this many ticks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A moment that matters, as a line through all rows."""

    at: float
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Scale:
    until: float

    def x(self, seconds: float) -> float:
        return round(LABELS + (WIDTH - LABELS - FIGURES) * seconds / self.until, 1)


def render_timeline(title: str, rows: Sequence[Row], marks: Sequence[Mark] = ()) -> str:
    """The picture; `rows` from top to bottom, all of them from zero on."""
    ends = [step.end for row in rows for step in row.steps] + [mark.at for mark in marks]
    scale = _Scale(until=max(ends, default=1.0) or 1.0)
    bottom = HEAD + ROW * len(rows)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom + FOOT}"'
        f' viewBox="0 0 {WIDTH} {bottom + FOOT}" font-family="DejaVu Sans, Helvetica, Arial, sans-serif"'
        ' font-size="12">',
        f'<rect width="{WIDTH}" height="{bottom + FOOT}" fill="#ffffff"/>',
        f'<text x="16" y="26" font-size="16" font-weight="bold" fill="#1b2733">{escape(title)}</text>',
        *_draw_scale(scale, bottom),
    ]
    for number, row in enumerate(rows):
        lines += _draw_row(row, HEAD + ROW * number, scale)
    for mark in marks:
        lines += _draw_mark(mark, scale, bottom)
    return "\n".join([*lines, "</svg>", ""])


def find_tick(until: float, *, most: int = TICKS) -> float:
    """The distance of the ticks: 1, 2 or 5 times a power of ten, so that they are at most so many."""
    least = until / most
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def shorten(label: str, letters: int = LABEL_LETTERS) -> str:
    """A label that fits; of a long one, begin and end stay, which tell the most."""
    if len(label) <= letters:
        return label
    tail = letters // 2
    return f"{label[: letters - tail - 1]}…{label[-tail:]}"


def _draw_scale(scale: _Scale, bottom: float) -> Iterator[str]:
    tick = find_tick(scale.until)
    for number in range(math.floor(scale.until / tick) + 1):
        x = scale.x(number * tick)
        yield f'<line x1="{x}" y1="{HEAD - 6}" x2="{x}" y2="{bottom + 4}" stroke="#dde3e8"/>'
        yield f'<text x="{x}" y="{bottom + 19}" text-anchor="middle" fill="#53616d">{number * tick:g}</text>'
    middle = (LABELS + WIDTH - FIGURES) / 2
    yield f'<text x="{middle}" y="{bottom + 35}" text-anchor="middle" fill="#53616d">seconds</text>'


def _draw_row(row: Row, top: float, scale: _Scale) -> Iterator[str]:
    middle = top + ROW / 2 + 4
    label, figure = escape(shorten(row.label)), f"{row.seconds:.1f} s"
    yield f'<text x="{LABELS - 10}" y="{middle}" text-anchor="end" fill="#1b2733">{label}</text>'
    for step in row.steps:
        x, wide = scale.x(step.begin), max(1.0, round(scale.x(step.end) - scale.x(step.begin), 1))
        tip = f"{escape(step.name)}: {step.seconds:.2f} s, from {step.begin:.2f} s on"
        yield (
            f'<rect x="{x}" y="{top + 4}" width="{wide}" height="{ROW - 8}" rx="1" fill="#2f6f9f">'
            f"<title>{tip}</title></rect>"
        )
    # Beside the bar, on ground of its own: a line that marks a moment may pass there.
    x = scale.x(max(step.end for step in row.steps)) + 6
    yield f'<rect x="{x - 2}" y="{top + 3}" width="{7 * len(figure)}" height="{ROW - 6}" fill="#ffffff"/>'
    yield f'<text x="{x}" y="{middle}" fill="#53616d">{figure}</text>'


def _draw_mark(mark: Mark, scale: _Scale, bottom: float) -> Iterator[str]:
    x = scale.x(mark.at)
    yield (
        f'<line x1="{x}" y1="{HEAD - 8}" x2="{x}" y2="{bottom + 4}" stroke="#b4412a"'
        ' stroke-width="1.5" stroke-dasharray="5 3"/>'
    )
    label = f"{escape(mark.label)} {mark.at:.1f} s"
    place = f'x="{x}" y="{HEAD - 14}" text-anchor="middle"'
    yield f'<text {place} fill="#b4412a" font-weight="bold">{label}</text>'
