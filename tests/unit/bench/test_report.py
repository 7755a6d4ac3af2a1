"""Figures that people compare from run to run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flexlab.bench.report import Measurement, render_json, render_line, render_table, save_json

READY = Measurement(name="ready", value=21.5, unit="s", compared_with="static units", reference=20.0)
MEMORY = Measurement(name="memory", value=41.25, unit="MiB")
SLOW = Measurement(name="slow", value=1.5, unit="s", compared_with="the bar", reference=1.0, bar=True)


def test_the_table_puts_each_figure_beside_its_reference() -> None:
    assert render_table([READY, MEMORY]).splitlines() == [
        "what        value  compared with  value  ratio",
        "ready      21.5 s  static units    20 s   1.07",
        "memory  41.25 MiB",
    ]


def test_a_figure_that_misses_its_bar_says_so() -> None:
    assert render_table([SLOW]).splitlines()[-1] == "slow  1.5 s  the bar          1 s   1.50  misses its bar"
    assert render_line(SLOW) == "slow: 1.5 s (the bar: 1 s), misses its bar"


def test_a_figure_that_is_slower_than_what_it_only_stands_beside_misses_nothing() -> None:
    assert not READY.missed
    assert render_line(READY) == "ready: 21.5 s (static units: 20 s)"


@pytest.mark.parametrize(("value", "missed"), [(0.0, False), (1.0, True)])
def test_where_nothing_at_all_may_be_one_is_too_much(value: float, missed: bool) -> None:
    written = Measurement(
        name="written", value=value, unit="files", compared_with="the bar", reference=0.0, bar=True
    )
    assert written.missed is missed
    assert written.ratio is None


def test_the_file_holds_every_figure_by_name(tmp_path: Path) -> None:
    path = tmp_path / "build" / "bench.json"
    save_json([READY, MEMORY], path)
    assert json.loads(path.read_text()) == {
        "ready": {
            "value": 21.5,
            "unit": "s",
            "compared_with": "static units",
            "reference": 20.0,
            "ratio": 1.075,
        },
        "memory": {"value": 41.25, "unit": "MiB", "compared_with": None, "reference": None, "ratio": None},
    }
    assert [entry.name for entry in path.parent.iterdir()] == ["bench.json"]


def test_a_figure_never_hides_another_of_the_same_name() -> None:
    indented = Measurement(name="  ready", value=1.0, unit="s")
    with pytest.raises(ValueError, match="ready"):
        render_json([READY, indented])
