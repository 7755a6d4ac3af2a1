"""One process makes a bundle at a time, and only where a file can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.artifacts.store import hold_directory
from flexnode.clock import SystemClock
from flexnode.errors import ArtifactError, UsageError
from flexnode.flows.bundle import PackageChoice, make_bundle
from flexnode.flows.selection import Access, Selection
from flexnode.host import run
from flexnode.model import Arch
from flexnode.progress import Silent


def make(path: Path, source: Path) -> None:
    make_bundle(
        path,
        Selection(arches=(Arch.AMD64,)),
        PackageChoice(),
        Access(sources=(str(source),)),
        run=run,
        clock=SystemClock(),
        progress=Silent(),
    )


def test_two_at_once_do_not_mix_their_bundles(tmp_path: Path) -> None:
    parts = tmp_path / ".bundle.tar.parts"
    with (
        hold_directory(parts, "bundle.tar", wait=False),
        pytest.raises(ArtifactError) as caught,
    ):
        make(tmp_path / "bundle.tar", tmp_path)
    assert caught.value.code == "artifact/busy"
    assert caught.value.transient
    assert parts.is_dir()


def test_what_a_killed_run_left_is_no_obstacle(tmp_path: Path) -> None:
    parts = tmp_path / ".bundle.tar.parts"
    with hold_directory(parts, "bundle.tar", wait=False):
        parts.rmdir()
    with hold_directory(parts, "bundle.tar", wait=False):
        assert parts.is_dir()


@pytest.mark.parametrize("place", [".", "..", "/", "folder"])
def test_a_directory_is_refused_before_anything_is_fetched(place: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="is a directory"):
        make(tmp_path / place if place == "folder" else Path(place), tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]
