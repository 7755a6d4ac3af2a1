"""Everything that decides what a build yields decides whether it is built again."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from flexlab.errors import LabError
from flexlab.parts import available_kubernetes
from flexlab.parts.cache import render_key
from flexlab.parts.parts import COMPONENTS
from flexlab.parts.recipes import RECIPES, Recipe
from flexlab.parts.source import GoBuild, list_versions, require_source
from flexlab.parts.toolchain import Go, parse_go_version, require_go, run_logged
from flexlab.paths import repository
from flexnode.catalog import load_catalog
from flexnode.host import Command
from flexnode.model import Arch

SOURCES = repository() / "sources"
PINNED = [
    pytest.param(recipe, version, id=f"{recipe.component}-{version}")
    for recipe in RECIPES.values()
    for version in list_versions(recipe.component, SOURCES)
]


@pytest.fixture
def build(tmp_path: Path) -> GoBuild:
    (tmp_path / "go.mod").write_text("module example\n\ngo 1.25.0\n")
    (tmp_path / "go.sum").write_text("one")
    go = Go(path="go", version=(1, 26, 0))
    return GoBuild(recipe=RECIPES["etcd"], version="9.8.7", arch=Arch.AMD64, folder=tmp_path, go=go)


def key(build: GoBuild) -> str:
    return render_key(build.inputs())


def test_the_same_source_and_compiler_are_the_same_build(build: GoBuild) -> None:
    elsewhere = replace(build, go=replace(build.go, path="another/go"))
    assert key(elsewhere) == key(build)


def test_another_compiler_flag_or_architecture_is_another_build(build: GoBuild) -> None:
    others = [
        replace(build, go=replace(build.go, version=(1, 26, 1))),
        replace(build, arch=Arch.ARM64),
        replace(build, recipe=replace(build.recipe, tags=("seccomp",))),
        replace(build, recipe=replace(build.recipe, variables=(("main.version", "x"),))),
        replace(build, recipe=replace(build.recipe, cgo=True)),
    ]
    assert len({key(build), *map(key, others)}) == len(others) + 1


@pytest.mark.parametrize("name", ["go.mod", "go.sum", "main.go"])
def test_another_pinned_file_is_another_build(build: GoBuild, name: str) -> None:
    before = key(build)
    (build.folder / name).write_text("changed")
    assert key(build) != before


def test_versions_are_what_the_programs_will_print() -> None:
    flags = RECIPES["kubernetes"].linker_flags("9.87.6")
    assert "-X k8s.io/component-base/version.gitVersion=v9.87.6" in flags
    assert "-X k8s.io/component-base/version.gitMinor=87" in flags


def test_runc_is_built_with_seccomp() -> None:
    """Without it a node goes Ready, and no pod ever starts."""
    assert "seccomp" in RECIPES["runc"].tags


@pytest.mark.parametrize(("recipe", "version"), PINNED)
def test_each_source_pins_what_its_folder_says(recipe: Recipe, version: str) -> None:
    folder = require_source(recipe.component, version, SOURCES)
    pinned = (folder / "go.mod").read_text()
    assert re.search(
        rf"^\s*(require )?{re.escape(recipe.module)} v{re.escape(version)}( // indirect)?$", pinned, re.M
    )
    assert f"{recipe.module} v{version} h1:" in (folder / "go.sum").read_text()
    for package in recipe.packages:
        assert re.search(rf"^\s*(tool )?{re.escape(package)}$", pinned, re.M), f"{package} is not pinned"


@pytest.mark.parametrize("kubernetes", available_kubernetes())
def test_all_that_goes_with_a_kubernetes_version_is_pinned(kubernetes: str) -> None:
    versions = {**load_catalog().release_set(kubernetes).components, "kubernetes": kubernetes}
    for component in COMPONENTS:
        require_source(component, versions[component], SOURCES)


def test_an_unknown_version_names_the_known_ones(tmp_path: Path) -> None:
    for version in ("1.10.0", "1.9.0"):
        (tmp_path / "etcd" / version).mkdir(parents=True)
        (tmp_path / "etcd" / version / "go.mod").touch()
    with pytest.raises(LabError, match=r"there is: 1\.9\.0, 1\.10\.0") as caught:
        require_source("etcd", "2.0.0", tmp_path)
    assert "pin_source.py etcd 2.0.0" in caught.value.hint


def test_a_go_that_is_too_old_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "go"
    old.write_text("#!/bin/sh\necho go1.2.3\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(LabError, match=r"needs Go 999\.0\.0 or newer; .*/go is 1\.2\.3"):
        require_go((999, 0, 0))


@pytest.mark.parametrize(
    ("text", "version"),
    [("go1.26.8\n", (1, 26, 8)), ("go 1.24", (1, 24, 0)), ("go1.25.1-X:nodwarf5", (1, 25, 1)), ("devel", ())],
)
def test_go_versions_compare_as_numbers(text: str, version: tuple[int, ...]) -> None:
    assert parse_go_version(text) == version


def test_a_failed_build_shows_its_last_lines_and_where_the_rest_is(tmp_path: Path) -> None:
    log = tmp_path / "tool.log"
    command = Command(argv=("sh", "-c", "seq 100 >&2; echo undefined: foo >&2; exit 3"))
    with pytest.raises(LabError, match=r"exited with 3:\n(?s:.*)undefined: foo") as caught:
        run_logged(command, log)
    assert str(log) in caught.value.hint
    assert "\n1\n2\n3\n" in log.read_text()
