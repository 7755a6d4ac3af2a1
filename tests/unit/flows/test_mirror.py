"""A directory that cannot be a mirror is told so, and is no defect of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.errors import ArtifactError
from flexnode.flows.mirror import load_manifest


def test_a_directory_that_nobody_filled_lists_nothing(tmp_path: Path) -> None:
    assert load_manifest(tmp_path / "mirror") is None


def test_a_file_in_the_place_of_a_mirror_is_refused_with_what_to_check(tmp_path: Path) -> None:
    place = tmp_path / "mirror"
    place.write_text("something else")
    with pytest.raises(ArtifactError) as caught:
        load_manifest(place)
    assert caught.value.code == "artifact/store-unwritable"
    assert str(place) in caught.value.message
    assert caught.value.hint
