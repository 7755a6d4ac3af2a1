"""What the page on faults promises is shown by tests that exist, with codes that the product has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/faults.md").read_text()

_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
_CODE = re.compile(r"`([a-z]+/[a-z-]+)`")


def rows() -> list[tuple[str, ...]]:
    """The cells of each row, without the two that make the table's head."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")][2:]
    return [tuple(cell.strip() for cell in line[1:-1].split("|")) for line in lines]


def find_gaps(row: tuple[str, ...], root: Path = ROOT) -> list[str]:
    """What a row promises and nobody shows."""
    shown = _TEST.findall(row[-1])
    if not shown:
        return [f"no test shows: {row[0]}"]
    texts = {path: (root / path).read_text() if (root / path).is_file() else "" for path, _ in shown}
    return [f"{path} has no {name}" for path, name in shown if f"def {name}(" not in texts[path]]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0].replace(" ", "-"))
def test_every_fault_is_shown_by_tests_that_exist(row: tuple[str, ...]) -> None:
    assert len(row) == 4
    assert find_gaps(row) == []


def test_every_code_is_one_that_the_product_can_give() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src/flexnode").rglob("*.py"))
    codes = {code for row in rows() for code in _CODE.findall(row[2])}
    assert len(codes) > 15
    assert sorted(code for code in codes if f'"{code}"' not in source) == []


def test_a_test_that_was_renamed_is_missed() -> None:
    assert find_gaps(("a fault", "ends", "", "`tests/faults/test_flow_state.py::test_of_another_name`"))
    assert find_gaps(("a fault", "ends", "", "`tests/faults/no_file.py::test_of_another_name`"))
    assert find_gaps(("a fault", "ends", "", "somebody said so"))
