"""Uninstalling: the machine is as it was, and a node is not left without the one that can undo it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from unit.shipping.samples import PROGRAM, Root, make_root, small_files, unpack


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return make_root(tmp_path / "root")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return unpack(tmp_path / "archive", small_files("1.0.0"))


def fill_with_others_things(root: Root) -> None:
    """A machine on which something lies in every place that an installation needs."""
    root.write(f"usr/local/bin/{PROGRAM}", "somebody's own program", 0o700)
    root.write(f"etc/systemd/system/{PROGRAM}-agent.service", "somebody's own unit", 0o640)
    root.write("etc/systemd/system/multi-user.target.wants/other.service", "")
    root.write(f"etc/{PROGRAM}/config.d/10-own.json", "{}", 0o600)
    root.write("opt/other/file", "")
    completion = root.path / f"usr/local/share/bash-completion/completions/{PROGRAM}"
    completion.parent.mkdir(parents=True)
    completion.symlink_to("somewhere/else")


def use(root: Root) -> None:
    """What the program leaves once it was at work."""
    root.write(f"var/lib/{PROGRAM}/store/sha256/aa", "artifact", 0o600)
    root.write(f"var/lib/{PROGRAM}/state.json", state("left"), 0o600)
    root.write(f"var/log/{PROGRAM}/{PROGRAM}.log", "words")
    root.write(f"run/{PROGRAM}/status.json", "{}")


def state(desired: str, **more: Any) -> str:
    return json.dumps({"schema": 1, "sha256": "0" * 64, "payload": {"desired": desired, **more}})


@pytest.mark.parametrize("own", [False, True], ids=["stock machine", "machine with others' things"])
@pytest.mark.parametrize("upgraded", [False, True], ids=["once", "upgraded"])
def test_a_machine_is_as_it_was(root: Root, archive: Path, tmp_path: Path, own: bool, upgraded: bool) -> None:
    for folder in ("var/lib", "var/log", "run"):
        (root.path / folder).mkdir(parents=True)
    if own:
        fill_with_others_things(root)
    before = root.snapshot(times=True)
    root.install(archive, "--start")
    if upgraded:
        root.install(unpack(tmp_path / "second", small_files("2.0.0")), "--start")
    use(root)
    said = root.run(root.home / "current/uninstall.sh").text
    assert root.snapshot(times=True) == before
    assert ("stays" in said) == own, "the user's configuration is the user's"


def test_the_configuration_stays_until_it_is_purged(root: Root, archive: Path, tmp_path: Path) -> None:
    before = root.snapshot()
    config = tmp_path / "node.json"
    config.write_text("{}")
    root.install(archive, "--config", config)
    root.uninstall(archive)
    assert (root.path / f"etc/{PROGRAM}/config.json").read_text() == "{}"
    root.uninstall(archive, "--purge")
    # Who made the folder is no longer known once the record is gone; what is known is that it is empty.
    assert root.snapshot() == before


def test_a_unit_that_a_person_enabled_is_disabled(root: Root, archive: Path) -> None:
    root.install(archive)
    link = root.path / f"etc/systemd/system/graphical.target.wants/{PROGRAM}-agent.service"
    link.parent.mkdir()
    link.symlink_to(f"../{PROGRAM}-agent.service")
    root.uninstall(archive)
    assert not link.is_symlink()


def test_an_agent_that_a_person_enabled_and_an_upgrade_found_so_is_disabled(
    root: Root, archive: Path
) -> None:
    root.install(archive)
    link = root.path / f"etc/systemd/system/multi-user.target.wants/{PROGRAM}-agent.service"
    link.symlink_to(f"/etc/systemd/system/{PROGRAM}-agent.service")
    root.install(archive, "--start")
    root.uninstall(archive)
    assert not link.is_symlink()


NODE = [
    (f"var/lib/{PROGRAM}/state.json", state("joined", current="aa"), "is set up as a node"),
    (f"var/lib/{PROGRAM}/state.json", "", "is set up as a node"),
    (f"var/lib/{PROGRAM}/journal", "{}", "has not come to its end"),
    (f"var/lib/{PROGRAM}/ledger/file", "{}", "has not left its cluster completely"),
    ("etc/kubernetes/kubelet.conf", "", "kubelet can log in"),
]


@pytest.mark.parametrize(("path", "text", "word"), NODE)
def test_a_node_is_not_left_alone_by_mistake(
    root: Root, archive: Path, path: str, text: str, word: str
) -> None:
    root.install(archive)
    root.write(path, text)
    said = root.refuse(archive / "uninstall.sh")
    assert word in said
    assert "aks-flex-node unbootstrap" in said
    root.uninstall(archive, "--force")
    assert not root.home.exists()
    assert not (root.path / f"var/lib/{PROGRAM}").exists()


def test_what_kubelet_has_stays_when_a_node_is_abandoned(root: Root, archive: Path) -> None:
    root.install(archive)
    kubeconfig = root.write("etc/kubernetes/kubelet.conf", "credentials")
    root.uninstall(archive, "--force")
    assert kubeconfig.read_text() == "credentials"


def test_a_machine_without_the_program_is_left_as_it_is(root: Root, archive: Path) -> None:
    before = root.snapshot(times=True)
    root.uninstall(archive)
    assert root.snapshot(times=True) == before


def test_wrong_usage_is_told(root: Root, archive: Path) -> None:
    assert "error:" in root.refuse(archive / "uninstall.sh", "--wrong", code=2)
