"""A pinned module takes over from upstream what would get lost, and nothing that fits only there."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from flexlab.parts.recipes import RECIPES
from flexlab.paths import repository


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path: Path = repository() / "scripts" / "pin_source.py"
    spec = importlib.util.spec_from_file_location("pin_source", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_staging_folders_become_the_published_modules_of_that_version(script: ModuleType) -> None:
    local = {"Path": "./staging/src/k8s.io/api"}
    assert script.find_replacement("k8s.io/api", "1.87.6", local) == "k8s.io/api@v0.87.6"


def test_folders_of_another_repository_are_taken_as_required(script: ModuleType) -> None:
    assert script.find_replacement("go.example.org/api/v3", "3.87.6", {"Path": "../api"}) is None


def test_upstreams_own_replacements_defaults_and_exclusions_hold(script: ModuleType) -> None:
    upstream = {
        "Go": "1.25.0",
        "Godebug": [{"Key": "default", "Value": "go1.25"}],
        "Exclude": [{"Path": "example.org/bad", "Version": "v1.0.0"}],
        "Replace": [
            {"Old": {"Path": "example.org/a"}, "New": {"Path": "example.org/fork", "Version": "v2.0.0"}},
            {"Old": {"Path": "example.org/b"}, "New": {"Path": "./FORBIDDEN"}},
        ],
    }
    edits = script.edits(RECIPES["etcd"], "3.87.6", upstream)
    assert edits == [
        "-go=1.25.0",
        "-require=go.etcd.io/etcd/server/v3@v3.87.6",
        "-godebug=default=go1.25",
        "-exclude=example.org/bad@v1.0.0",
        "-replace=example.org/a=example.org/fork@v2.0.0",
    ]


def test_programs_of_a_module_are_pinned_as_tools(script: ModuleType) -> None:
    edits = script.edits(RECIPES["runc"], "1.87.6", {"Go": "1.25.0"})
    assert "-tool=github.com/opencontainers/runc" in edits
