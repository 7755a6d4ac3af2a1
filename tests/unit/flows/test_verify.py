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
