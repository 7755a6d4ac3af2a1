"""The files of every golden node, read by the containerd that is to read them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from flexlab.parts import available_kubernetes, ensure_parts
from flexnode.components.node import compose_node
from flexnode.host import Command, run
from flexnode.progress import Silent
from unit.components.samples import CASES, texts

OLDEST, *_, NEWEST = available_kubernetes()

pytestmark = [pytest.mark.vm, pytest.mark.timeout(2400)]  # a version's first build takes minutes


def is_within(wanted: Any, found: Any) -> bool:
    if isinstance(wanted, dict):
        return all(key in found and is_within(value, found[key]) for key, value in wanted.items())
    return bool(wanted == found)


@pytest.mark.parametrize("kubernetes", [OLDEST, pytest.param(NEWEST, marks=pytest.mark.full)])
def test_containerd_takes_every_setting_of_its_configuration(kubernetes: str, tmp_path: Path) -> None:
    """One that it does not know is dropped with a warning, and a node would run without it."""
    containerd = ensure_parts(kubernetes, progress=Silent()).binary("containerd")
    for case, inputs in CASES.items():
        config = tmp_path / f"{case}.toml"
        config.write_text(texts(compose_node(inputs))["/etc/containerd/config.toml"])
        dumped = run(Command(argv=(str(containerd), "--config", str(config), "config", "dump"), timeout=60))
        assert b"unknown" not in dumped.stderr.lower(), dumped.stderr.decode()
        wanted = tomllib.loads(config.read_text())
        found = tomllib.loads(dumped.text)
        assert wanted.pop("version") <= found.pop("version")  # a newer containerd turns it into its own
        assert is_within(wanted, found), case
