"""The files of every golden node, read by the containerd and kubelet that are to read them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from flexlab import machine
from flexlab.parts import available_kubernetes, ensure_parts
from flexlab.testing import LabUnderTest, Machine
from flexnode.components.node import compose_node
from flexnode.host import Command, run
from flexnode.progress import Silent
from unit.components.samples import CASES, texts

OLDEST, *_, NEWEST = available_kubernetes()

pytestmark = [pytest.mark.vm, pytest.mark.timeout(2400)]  # a version's first build takes minutes

CONFIG = "/root/config.json"
NOWHERE = "/root/nowhere"


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


@pytest.mark.full
def test_kubelet_takes_every_setting_of_its_configuration(
    stock_machine: Machine, session_lab: LabUnderTest
) -> None:
    """Without a cluster to go to it ends as soon as it has read and checked all of it."""
    one, kubelet = stock_machine, session_lab.parts.binary("kubelet")
    machine.push(one.lab, one.node, kubelet, "/root/kubelet")
    start = f"/root/kubelet --config={CONFIG} --kubeconfig={NOWHERE} --bootstrap-kubeconfig={NOWHERE} 2>&1"
    for case, inputs in CASES.items():
        config = json.loads(texts(compose_node(inputs))["/etc/kubernetes/kubelet/config.json"])
        config.pop("featureGates", None)  # the samples make up the names of theirs
        machine.run(one.lab, one.node, f"cat >{CONFIG}", stdin=json.dumps(config).encode())
        said = one.sh(f"timeout 60 {start}", expect=(1,))
        assert "unable to load client CA file" in said, f"{case}: {said}"
        assert "decoding" not in said, f"{case}: {said}"
