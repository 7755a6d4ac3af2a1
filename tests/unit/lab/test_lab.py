"""A lab whose state is damaged can be told from one that is not there, and ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexlab.errors import LabError
from flexlab.lab import find_lab


@pytest.fixture
def labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLEXLAB_STATE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("data", [b"{", b'{"name": "\xe9"}'])
def test_a_damaged_lab_names_the_way_out(labs: Path, data: bytes) -> None:
    (labs / "broken").mkdir()
    (labs / "broken/lab.json").write_bytes(data)
    with pytest.raises(LabError, match="cannot be read") as caught:
        find_lab("broken")
    assert "flexlab down --name broken" in caught.value.hint


def test_a_file_in_the_place_of_a_lab_is_none(labs: Path) -> None:
    (labs / "file").touch()
    assert find_lab("file") is None
