"""The full matrix runs for hours: it must go on where it stopped, and never call a part the whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"

TESTS = """
import pathlib, pytest
@pytest.mark.parametrize("number", range(8))
def test_one(number):
    assert number != 5 or pathlib.Path("repaired").exists()
"""


@pytest.fixture
def matrix(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.syspathinsert(SCRIPTS)
    pytester.makepyfile(TESTS)
    return pytester


def run(matrix: pytest.Pytester, *words: str) -> pytest.RunResult:
    # Loading hypothesis anew for each inner run would take a second.
    plugins = ("-p", "matrix", "-p", "no:hypothesispytest")
    return matrix.runpytest_inprocess(*plugins, "--matrix", "results", *words)


def test_a_second_run_only_repeats_what_failed(matrix: pytest.Pytester) -> None:
    run(matrix).assert_outcomes(passed=7, failed=1)
    matrix.path.joinpath("repaired").touch()
    again = run(matrix)
    again.assert_outcomes(passed=1, deselected=7)
    again.stdout.fnmatch_lines(["results   8 passed, of 8;*"])


def test_a_run_with_nothing_left_is_green(matrix: pytest.Pytester) -> None:
    matrix.path.joinpath("repaired").touch()
    run(matrix)
    assert run(matrix).ret == 0


def test_shards_together_run_every_test_once(matrix: pytest.Pytester) -> None:
    for shard in ("1/3", "2/3", "3/3"):
        run(matrix, "--shard", shard)
    lines = [line for path in sorted(matrix.path.glob("results/*")) for line in path.read_text().splitlines()]
    names = [json.loads(line)["test"] for line in lines]
    assert len(names) == len(set(names)) == 8


def test_a_record_cut_off_by_a_crash_is_run_again(matrix: pytest.Pytester) -> None:
    matrix.path.joinpath("repaired").touch()
    run(matrix)
    (path,) = matrix.path.glob("results/*")
    path.write_text(path.read_text()[:-20])
    run(matrix).assert_outcomes(passed=1, deselected=7)


def test_a_shard_that_cannot_be_is_refused(matrix: pytest.Pytester) -> None:
    result = run(matrix, "--shard", "5/4")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--shard is '5/4'*"])
