"""A directory that cannot be a mirror is told so, and is no defect of the program."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from flexnode.artifacts import Manifest, render_manifest
from flexnode.catalog import render_overlay
from flexnode.clock import SystemClock
from flexnode.errors import ArtifactError
from flexnode.flows.mirror import fill_mirror, load_manifest
from flexnode.flows.selection import Access, Selection, select
from flexnode.model import Arch, Artifact, Flavour, Format
from flexnode.progress import Silent


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


def test_a_list_that_is_not_text_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(b'{"catalog": "\xe9"}')
    with pytest.raises(ArtifactError) as caught:
        load_manifest(tmp_path)
    assert caught.value.code == "artifact/bad-manifest"


class Meanwhile(Silent):
    """Another run fills the same mirror while this one fetches, and is done first."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextmanager
    def step(self, _title: str) -> Iterator[None]:
        self.root.mkdir(exist_ok=True)
        (self.root / "manifest.json").write_bytes(
            render_manifest(Manifest(catalog="c", kubernetes=("1.2.3",)))
        )
        yield


def publish(source: Path, artifact: Artifact) -> Artifact:
    """A small file in the place of the vendor's."""
    data = str(artifact).encode()
    digest = hashlib.sha256(data).hexdigest()
    (source / "sha256" / digest).write_bytes(data)
    return replace(
        artifact,
        flavour=Flavour.SOURCE,
        format=Format.FILE,
        members=(),
        urls=(),
        sha256=digest,
        size=len(data),
    )


def test_two_that_fill_one_mirror_both_stay_in_its_list(tmp_path: Path) -> None:
    source, root, overlay = tmp_path / "source", tmp_path / "mirror", tmp_path / "overlay.json"
    (source / "sha256").mkdir(parents=True)
    selected = select(Selection(arches=(Arch.AMD64,)))
    ours = [publish(source, each) for each in (*selected.needed, *selected.optional)]
    overlay.write_bytes(render_overlay(ours))
    fill_mirror(
        root,
        Selection(arches=(Arch.AMD64,), overlays=(overlay,)),
        Access(sources=(str(source),)),
        clock=SystemClock(),
        progress=Meanwhile(root),
    )
    listed = load_manifest(root)
    assert listed is not None
    assert listed.kubernetes == ("1.2.3", *selected.kubernetes)
    assert {each.sha256 for each in listed.files} == {each.sha256 for each in ours}
    assert sorted(each.name for each in root.iterdir()) == ["manifest.json", "sha256"]
