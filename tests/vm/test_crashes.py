"""A join or a leave that is cut off, at many points: the next start ends where an undisturbed one does."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from flexlab import machine
from flexlab.cluster import start_node
from flexlab.testing import LabUnderTest, Machine
from flexnode.progress import Silent
from vm.nodes import PROGRAM, bring_to, clear_cluster, install, is_ready, verb, wait_until

pytestmark = [pytest.mark.vm, pytest.mark.full, pytest.mark.timeout(2400)]

STATE = "/var/lib/aks-flex-node"

# By the journal's records: at the beginning, among the files, around containerd and kubelet, at the end.
JOINING = (1, 20, 60, 110, 130, 150)
LEAVING = (2, 40, 90, 140)


@pytest.fixture
def prepared(make_machine: Callable[..., Machine], session_lab: LabUnderTest) -> Iterator[Machine]:
    one = make_machine("edge1")
    install(one, session_lab)
    yield one
    clear_cluster(session_lab)


def run_until(one: Machine, words: str, records: int) -> None:
    """Start a verb, and return once its journal has so many records, or it has ended."""
    one.sh(
        f"""
        {PROGRAM} {words} >/root/{words.split()[0]}.log 2>&1 &
        until [ "$(wc -l <{STATE}/journal 2>/dev/null || echo 0)" -ge {records} ]; do
            kill -0 $! 2>/dev/null || break
        done""",
        timeout=900,
    )


@pytest.mark.parametrize("records", JOINING)
def test_a_power_cut_in_a_join_is_gone_on_from(
    prepared: Machine, session_lab: LabUnderTest, records: int
) -> None:
    run_until(prepared, "bootstrap", records)
    machine.power_cut(prepared.lab, prepared.node)
    start(prepared, session_lab)
    assert verb(prepared, "bootstrap")["result"] in ("confirmed", "unchanged")
    assert is_ready(session_lab, prepared.node.name)
    assert verb(prepared, "plan")["changes"] == []
    assert prepared.sh(f"ls {STATE}/journal 2>/dev/null || true") == ""


@pytest.mark.parametrize("records", LEAVING)
def test_a_kill_in_a_leave_is_gone_on_from(
    prepared: Machine, session_lab: LabUnderTest, records: int
) -> None:
    bring_to(prepared, "bootstrapped", lambda: verb(prepared, "bootstrap"), ready_in=session_lab)
    run_until(prepared, "unbootstrap --yes", records)
    prepared.sh(f"pkill -KILL -f '{PROGRAM}.* unbootstrap' || true")
    assert verb(prepared, "unbootstrap", "--yes")["result"] in ("left", "unchanged")
    assert session_lab.kubectl("get", "nodes", "-o", "name").strip() == ""
    left = "ls -d /etc/kubernetes /var/lib/kubelet /etc/containerd /opt/cni /usr/local/bin/kubelet 2>&-; true"
    assert prepared.sh(left) == ""


def start(one: Machine, lab: LabUnderTest) -> None:
    start_node(one.lab, one.node, Silent(), lab.clock)
    booted = "systemctl is-system-running --wait || true"
    wait_until("systemd is up", lambda: one.sh(booted) != "", lab.clock, timeout=120)
