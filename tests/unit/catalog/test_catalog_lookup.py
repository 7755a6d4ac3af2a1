"""Asking the catalog: the right file, or an error that names what would have worked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flexnode.catalog import Catalog, load_catalog, render_overlay
from flexnode.catalog.catalog import lay_over
from flexnode.catalog.document import parse_document
from flexnode.catalog.overlay import parse_overlay
from flexnode.errors import CatalogError
from flexnode.model.artifact import Arch, Artifact, Flavour, Format, Member
from unit.catalog.samples import ONE, THREE, TWO, built, encode, overlay, sample

MEMBERS = [{"path": "bin/engine", "sha256": ONE}]


def catalog(*overlays: bytes) -> Catalog:
    return lay_over(
        parse_document(encode(sample()), "the sample"),
        [(f"overlay {number}", data) for number, data in enumerate(overlays, 1)],
        version="sample",
    )


def refusal(*overlays: bytes) -> CatalogError:
    with pytest.raises(CatalogError) as caught:
        catalog(*overlays)
    return caught.value


def test_a_published_file_is_known_by_digest_place_and_members() -> None:
    assert catalog().require("engine", "7.9.0", Arch.ARM64) == Artifact(
        component="engine",
        version="7.9.0",
        arch=Arch.ARM64,
        flavour=Flavour.RELEASE,
        format=Format.TAR_GZ,
        sha256=TWO,
        urls=("https://first.invalid/v7.9.0/arm64.tgz", "https://second.invalid/7.9.0-arm64"),
        members=(Member(path="bin/engine"), Member(path="7.9.0-arm64/tool")),
    )


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (("engin", "7.9.0", Arch.AMD64), "catalog/unknown-component", "did you mean engine?"),
        (("engine", "v7.9.0", Arch.AMD64), "catalog/unknown-version", "did you mean 7.9.0?"),
        (("engine", "1", Arch.AMD64), "catalog/unknown-version", "known: 7.9.0, 7.10.0"),
        (("kubelet", "9.8.2", Arch.ARM64), "catalog/unknown-arch", "another version or architecture"),
        (("engine", "7.10.0", Arch.AMD64), "catalog/not-built", "build it first"),
        (("engine", "7.9.0", Arch.AMD64, Flavour.SOURCE), "catalog/not-built", "build it first"),
        (("kubelet", "9.8.2", Arch.AMD64, Flavour.SOURCE), "catalog/unknown-flavour", "another version"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(arguments: Any, code: str, hint: str) -> None:
    with pytest.raises(CatalogError) as caught:
        catalog().require(*arguments)
    assert caught.value.code == code
    assert hint in caught.value.hint


# Overlays


def test_a_build_in_an_overlay_comes_before_the_published_file() -> None:
    laid = catalog(overlay(built("engine", "7.9.0", format="tar.gz", members=MEMBERS)))
    assert laid.require("engine", "7.9.0", Arch.AMD64).sha256 == THREE
    assert laid.require("engine", "7.9.0", Arch.AMD64, Flavour.RELEASE).sha256 == ONE
    assert laid.require("engine", "7.9.0", Arch.ARM64).flavour is Flavour.RELEASE


def test_the_last_overlay_is_on_top() -> None:
    laid = catalog(overlay(built("lamp", "7.1.1")), overlay(built("lamp", "7.1.1", sha256=TWO)))
    assert laid.require("lamp", "7.1.1", Arch.AMD64).sha256 == TWO


def test_an_overlay_may_bring_versions_and_components_of_its_own() -> None:
    laid = catalog(
        overlay(built("kubelet", "9.8.11", flavour="release"), built("kubelet", "9.8.12"), built("x", "1.0"))
    )
    assert laid.versions("kubelet") == ("9.8.2", "9.8.10", "9.8.11", "9.8.12")
    assert laid.require("kubelet", "9.8.11", Arch.AMD64).sha256 == THREE
    assert laid.release_set("9.8.12").kubernetes == "9.8.12"
    assert laid.require("x", "1.0", Arch.AMD64).component == "x"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (built("lamp", "7.1.1", sha256=None), "lamp 7.1.1 (amd64, source) has no digest"),
        (built("lamp", "7.1.1", sha256=None, flavour="release"), "lamp 7.1.1 (amd64, release) has no digest"),
        (built("lamp", "7.1.1", sha256="abc"), "sha256"),
        (built("lamp", "7.1.1", colour="red"), "colour"),
        (built("engine", "7.9.0", format="tar.gz"), "an archive of which nothing gets installed"),
        (
            built("engine", "7.9.0", format="tar.gz", members=[{"path": "bin/engine"}]),
            "bin/engine in engine 7.9.0 (amd64, source) has no digest",
        ),
    ],
)
def test_an_overlay_without_every_digest_is_refused(entry: dict[str, Any], words: str) -> None:
    error = refusal(overlay(entry))
    assert error.code == "catalog/invalid"
    assert words in error.message
    assert error.message.startswith("overlay 1 ")


def test_an_overlay_that_lists_a_file_twice_is_refused() -> None:
    assert "twice" in refusal(overlay(built("lamp", "7.1.1"), built("lamp", "7.1.1", sha256=ONE))).message


def test_an_overlay_cannot_change_what_was_published() -> None:
    """Otherwise a file from a stranger could pass for the vendor's."""
    error = refusal(overlay(built("kubelet", "9.8.2", flavour="release")))
    assert error.code == "catalog/contradiction"
    assert ONE in error.message
    assert catalog(overlay(built("kubelet", "9.8.2", flavour="release", sha256=ONE))).overlay


def test_an_overlay_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(CatalogError) as caught:
        load_catalog([tmp_path / "none.json"])
    assert caught.value.code == "catalog/unreadable"
    for broken in (b"{", b'{"format": 1, "artifacts": [{"component": "\xe9"}]}'):
        (tmp_path / "broken.json").write_bytes(broken)
        with pytest.raises(CatalogError, match=r"broken\.json is not an acceptable catalog"):
            load_catalog([tmp_path / "broken.json"])


def test_what_a_build_writes_reads_back_the_same_in_any_order() -> None:
    artifacts = parse_overlay(
        overlay(
            built("lamp", "7.10.0"),
            built("lamp", "7.9.0", size=5, urls=["https://first.invalid/x"]),
            built("engine", "7.9.0", format="tar.gz", members=MEMBERS),
        ),
        "the sample",
    )
    data = render_overlay(artifacts)
    assert data == render_overlay(reversed(artifacts))
    assert [each.version for each in parse_overlay(data, "the sample")] == ["7.9.0", "7.9.0", "7.10.0"]
    assert set(parse_overlay(data, "the sample")) == set(artifacts)


def test_a_build_cannot_write_an_overlay_that_nobody_could_read() -> None:
    artifact = catalog().require("engine", "7.9.0", Arch.AMD64)
    with pytest.raises(CatalogError, match="has no digest"):
        render_overlay([artifact])


# Release sets


@pytest.mark.parametrize(("asked", "got"), [(None, "9.8.10"), ("9.8", "9.8.10"), ("9.8.2", "9.8.2")])
def test_a_release_set_names_the_versions_that_go_together(asked: str | None, got: str) -> None:
    release_set = catalog().release_set(asked)
    assert release_set.kubernetes == got
    assert release_set.components == {"engine": "7.9.0", "kubelet": got, "lamp": "7.1.1", "tower": "7.3.3"}


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("9.7", "known minor versions: 9.8"),
        ("9.8.3", "known versions of 9.8: 9.8.2, 9.8.10"),
        ("v9.8", "without a leading v"),
        ("nonsense", "known minor versions: 9.8"),
    ],
)
def test_an_unknown_kubernetes_is_answered_with_the_known_ones(asked: str, hint: str) -> None:
    with pytest.raises(CatalogError) as caught:
        catalog().release_set(asked)
    assert caught.value.code == "catalog/unknown-kubernetes"
    assert hint in caught.value.hint


def test_a_node_gets_its_own_parts_and_the_laboratory_the_rest() -> None:
    def names(laid: Catalog, **options: bool) -> list[str]:
        return [each.component for each in laid.artifacts(laid.release_set(), Arch.AMD64, **options)]

    everything = catalog(overlay(built("lamp", "7.1.1"), built("tower", "7.3.3")))
    assert names(catalog()) == ["engine", "kubelet"]
    assert names(catalog(), optional=True) == ["engine", "kubelet"]
    assert names(everything, optional=True) == ["engine", "kubelet", "lamp"]
    assert names(everything, lab=True) == ["engine", "kubelet", "tower"]
    with pytest.raises(CatalogError, match="tower"):
        names(catalog(), lab=True)


# Other questions


def test_the_source_of_a_component_is_a_module_of_one_version() -> None:
    assert catalog().find_source("engine", "7.10.0") == "example.invalid/engine@v7.10.0"
    assert catalog().find_source("kubelet", "9.8.2") is None
    assert catalog().find_source("nothing", "9.8.2") is None


def test_the_published_image_of_a_component_is_known() -> None:
    assert catalog().image("lamp", "7.1.1") == "images.invalid/lamp:7.1.1"
    with pytest.raises(CatalogError) as caught:
        catalog().image("engine", "7.9.0")
    assert "lamp" in caught.value.hint


def test_packages_depend_on_the_suite() -> None:
    assert set(catalog().packages("atlas")) == {"anvil", "bells"}
    with pytest.raises(CatalogError) as caught:
        catalog().packages("borea")
    assert "atlas" in caught.value.hint
