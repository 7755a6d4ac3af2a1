"""What the laboratory promises to those who test on it, and to the owner of the machine that it runs on."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flexlab import process
from flexlab.lab import find_lab, require_lab
from flexlab.paths import cache_dir, labs_dir
from flexlab.process import Place, Service
from flexnode.clock import SystemClock
from flexnode.host import Command, Completed, run
from vm.footprint import take_footprint

pytestmark = pytest.mark.vm

CLOCK = SystemClock()
PROGRAM = (sys.executable, "-m", "flexlab.cli")


def flexlab(
    *arguments: str, timeout: float = 600, expect: tuple[int, ...] = (0,), stdin: bytes = b""
) -> Completed:
    return run(Command(argv=(*PROGRAM, *arguments), timeout=timeout, expect=expect, stdin=stdin))


@pytest.fixture
def lab_name() -> Iterator[str]:
    """A name for a lab that is gone when the test is over, however it ended."""
    name = f"own-{os.getpid()}"
    yield name
    flexlab("down", "--name", name)


def test_two_machines_come_up_one_survives_a_power_cut_and_down_leaves_nothing(lab_name: str) -> None:
    before = take_footprint(labs_dir())
    name = ("--name", lab_name)
    flexlab("up", *name, "--nodes", "2")
    status = json.loads(flexlab("status", *name, "--output", "json").stdout)
    assert [node["name"] for node in status["nodes"]] == ["node1", "node2"]
    assert status["api_ready"] is True
    assert flexlab("kubectl", *name, "get", "--raw", "/readyz").text == "ok"
    assert "kube-proxy" in flexlab("kubectl", *name, "get", "daemonsets", "-A", "-o", "name").text
    uuids = {
        node["name"]: flexlab(
            "node", "exec", *name, node["name"], "cat", "/sys/class/dmi/id/product_uuid"
        ).text.strip()
        for node in status["nodes"]
    }
    assert uuids == {node.name: node.uuid for node in require_lab(lab_name).spec.nodes}
    assert flexlab("node", "exec", *name, "node2", "hostname").text.strip() == "node2"
    assert flexlab("node", "exec", *name, "node1", "--", "sh", "-c", "exit 7", expect=(7,)).returncode == 7

    flexlab("node", "exec", *name, "node1", "--", "sh", "-c", "echo kept > /root/kept && sync -f /root/kept")
    flexlab("node", "power-cut", *name, "node1")
    status = json.loads(flexlab("status", *name, "--output", "json").stdout)
    assert [node["running"] for node in status["nodes"]] == [False, True]
    flexlab("node", "start", *name, "node1")
    assert flexlab("node", "exec", *name, "node1", "cat", "/root/kept").text == "kept\n"

    flexlab("down", *name)
    assert take_footprint(labs_dir()).left_behind(before) == {}
    assert find_lab(lab_name) is None


def test_an_up_that_was_killed_in_the_middle_leaves_nothing_after_down(lab_name: str) -> None:
    before = take_footprint(labs_dir())
    for landmark in ("network", "kube-apiserver", "machine-node1"):
        _kill_up_at(lab_name, landmark)
        flexlab("down", "--name", lab_name)
        assert take_footprint(labs_dir()).left_behind(before) == {}, landmark


def test_an_up_that_was_killed_is_completed_by_the_next_one(lab_name: str) -> None:
    _kill_up_at(lab_name, "kube-apiserver")
    flexlab("up", "--name", lab_name)
    status = json.loads(flexlab("status", "--name", lab_name, "--output", "json").stdout)
    assert status["api_ready"] is True
    assert [node["running"] for node in status["nodes"]] == [True]


def test_two_labs_side_by_side_do_not_meet(lab_name: str) -> None:
    other = f"{lab_name}-b"
    try:
        flexlab("up", "--name", lab_name, "--nodes", "0")
        flexlab("up", "--name", other, "--nodes", "0")
        flexlab("kubectl", "--name", other, "create", "namespace", "mine")
        assert "mine" not in flexlab("kubectl", "--name", lab_name, "get", "namespaces", "-o", "name").text
        flexlab("down", "--name", other)
        assert flexlab("kubectl", "--name", lab_name, "get", "--raw", "/readyz").text == "ok"
    finally:
        flexlab("down", "--name", other)


def test_two_ups_of_one_lab_do_not_mix(lab_name: str) -> None:
    first = _start_up(lab_name)
    _wait_for(lab_name, "network")
    second = flexlab("up", "--name", lab_name, "--nodes", "0", expect=(75,))
    assert b"lab/busy" in second.stderr
    process.kill([first])


def test_a_wrong_name_version_or_node_is_refused_with_a_remedy(lab_name: str) -> None:
    for arguments, words in (
        (("up", "--name", "Not_A_Name"), b"lower-case"),
        (("up", "--name", lab_name, "--kubernetes", "9.9.9"), b"9.9.9"),
        (("status", "--name", "nowhere"), b"flexlab up --name nowhere"),
        (("node", "exec", "--name", "nowhere", "node1", "true"), b"flexlab up --name nowhere"),
    ):
        refused = flexlab(*arguments, expect=(1, 2))
        assert words in refused.stderr
        assert b"Traceback" not in refused.stderr
    assert find_lab(lab_name) is None


def _start_up(name: str) -> process.Daemon:
    log = cache_dir() / "test-up.log"
    service = Service(name="up-under-test", argv=(*PROGRAM, "up", "--name", name), log=log)
    # Marked as no lab's: `down` must find what `up` started by itself.
    return process.start(Place(lab=Path("/")), service)


def _kill_up_at(name: str, landmark: str) -> None:
    up = _start_up(name)
    _wait_for(name, landmark)
    os.kill(up.pid, signal.SIGKILL)
    process.kill([up])


def _wait_for(name: str, landmark: str) -> None:
    deadline = CLOCK.monotonic() + 120
    while not process.find(labs_dir() / name, landmark):
        assert CLOCK.monotonic() < deadline, f"{landmark} of lab {name} never started"
        CLOCK.sleep(0.02)
