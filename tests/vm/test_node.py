"""A stock machine becomes a node, and is pristine again: the product's main job, on a real machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from flexlab import handmade, machine, node_agent
from flexlab.handmade import workload
from flexlab.node_agent.leave import UNINSTALL
from flexlab.testing import LabUnderTest, Machine
from vm.nodes import clear_cluster, install, terminal_of, verb
from vm.pristine import differences, look, look_at_kernel

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1200)]

UNCHANGED = 0
CHANGES = 10

# Every managed file and every unit's run: what must not move when nothing is to be done.
TRACES = r"""
find /etc /opt /usr/local /var/lib/aks-flex-node -xdev -not -name events.jsonl -not -name provision.json \
  -not -name lock -printf '%p %y %m %C@\n' | grep -v -e '/var/lib/aks-flex-node .* ' | sort
systemctl show containerd kubelet -p Id -p InvocationID
"""


@pytest.fixture
def prepared(make_machine: Callable[..., Machine], session_lab: LabUnderTest) -> Iterator[Machine]:
    """A stock machine with the program and its configuration on it, and nothing run yet."""
    one = make_machine("edge1")
    install(one, session_lab)
    yield one
    clear_cluster(session_lab)


def require_same(before: list[str], after: list[str]) -> None:
    found = differences(before, after)
    assert not found, "\n".join(["", *found])


def test_a_stock_machine_becomes_a_node_that_runs_pods_and_is_pristine_again(
    make_machine: Callable[..., Machine], session_lab: LabUnderTest
) -> None:
    one = make_machine("edge1")
    machine.reboot(one.lab, one.node, session_lab.clock)
    kernel, before = look_at_kernel(one), look(one)  # in this order: reading every sysctl mounts one
    node_agent.prepare(terminal_of(one), session_lab.parts)
    assert verb(one, "plan", expect=(CHANGES,))["disruption"] == "restart-kubelet"
    assert verb(one, "bootstrap")["result"] == "confirmed"
    session_lab.kubectl("wait", "--for=condition=Ready", f"node/{one.node.name}", "--timeout=10s")
    assert one.sh("ls /etc/kubernetes/bootstrap-kubelet.conf 2>&1 || true").endswith(
        "No such file or directory\n"
    )

    handmade.run_pod(session_lab.lab, session_lab.parts, "web", one.node, timeout=240)
    assert "serving" in session_lab.kubectl("logs", "web")
    fetch = ("exec", "web", "--", "wget", "-q", "-O", "-", f"http://127.0.0.1:{workload.PORT}/")
    assert session_lab.kubectl(*fetch).strip() == "web"

    assert verb(one, "unbootstrap", "--yes")["result"] == "left"
    assert session_lab.kubectl("get", "nodes", "-o", "name", "--ignore-not-found").strip() == ""
    one.sh(f"sh {UNINSTALL} --purge 2>&1", timeout=300)
    require_same(before, look(one))
    machine.reboot(one.lab, one.node, session_lab.clock)
    require_same(kernel, look_at_kernel(one))
    require_same(before, look(one))


def test_a_second_bootstrap_touches_nothing(prepared: Machine) -> None:
    assert verb(prepared, "bootstrap")["result"] == "confirmed"
    before = prepared.sh(TRACES)
    assert verb(prepared, "bootstrap")["result"] == "unchanged"
    assert verb(prepared, "plan", expect=(UNCHANGED,))["changes"] == []
    assert prepared.sh(TRACES) == before
    verb(prepared, "unbootstrap", "--yes")
