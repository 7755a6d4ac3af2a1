"""A path that cannot be checked is told, and is no defect of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.errors import UsageError
from flexnode.flows.verify import verify
from flexnode.progress import Silent


@pytest.mark.parametrize("name", ["nothing", "a" * 300])
def test_a_path_that_leads_nowhere_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        verify(tmp_path / name, progress=Silent())


def test_a_device_is_neither_a_mirror_nor_a_bundle() -> None:
    with pytest.raises(UsageError, match="neither a directory nor a file"):
        verify(Path("/dev/null"), progress=Silent())


def test_a_directory_of_anything_else_is_not_as_it_should_be(tmp_path: Path) -> None:
    """A script with an empty variable checks the directory it runs in: not all is well there."""
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(UsageError, match="neither a mirror nor a store"):
        verify(tmp_path, progress=Silent())


def test_an_empty_store_is_one(tmp_path: Path) -> None:
    (tmp_path / "sha256").mkdir()
    assert verify(tmp_path, progress=Silent()).checked == 0
