"""Every cluster version with every Debian: what `flexlab up` offers must give a node that runs pods."""

from __future__ import annotations

import os

import pytest

from flexlab import handmade, node_agent
from flexlab.cluster import Request, bring_up, observe, parts_of, take_down
from flexlab.control_plane import run_kubectl
from flexlab.model import Suite
from flexlab.parts import available_kubernetes
from flexlab.testing import Machine
from flexnode.clock import SystemClock
from flexnode.progress import Silent
from vm.pristine import differences, look

pytestmark = [
    pytest.mark.vm,
    pytest.mark.full,
    pytest.mark.timeout(2400),
]  # a version's first build takes minutes


@pytest.mark.parametrize("suite", list(Suite))
@pytest.mark.parametrize("kubernetes", available_kubernetes())
def test_a_node_of_every_offered_version_runs_a_pod(kubernetes: str, suite: Suite) -> None:
    name = f"versions-{os.getpid()}"
    clock = SystemClock()
    try:
        lab = bring_up(Request(name=name, nodes=1, suite=suite, kubernetes=kubernetes), Silent(), clock)
        assert observe(lab).api_ready
        parts = parts_of(lab)
        (node,) = lab.spec.nodes
        handmade.install(lab, node, parts)
        handmade.start_node_services(lab, node, now=True)
        handmade.wait_until_ready(lab, node, parts, timeout=240)
        assert handmade.run_pod(lab, parts, "web", node, timeout=240)
        version = ("get", "node", node.name, "-o", "jsonpath={.status.nodeInfo.kubeletVersion}")
        assert run_kubectl(lab, parts, *version).text == f"v{kubernetes}"
    finally:
        take_down(name, clock)


OLDEST, *_, NEWEST = available_kubernetes()


@pytest.mark.parametrize(("kubernetes", "suite"), [(OLDEST, Suite.BOOKWORM), (NEWEST, Suite.TRIXIE)])
def test_the_agent_joins_every_offered_version_and_leaves_without_a_trace(
    kubernetes: str, suite: Suite
) -> None:
    name = f"joins-{os.getpid()}"
    clock = SystemClock()
    try:
        lab = bring_up(Request(name=name, nodes=1, suite=suite, kubernetes=kubernetes), Silent(), clock)
        parts = parts_of(lab)
        (node,) = lab.spec.nodes
        terminal = node_agent.Terminal(lab=lab, node=node, progress=Silent())
        one = Machine(lab=lab, node=node)
        before = look(one)
        node_agent.join(terminal, parts, clock)
        assert handmade.run_pod(lab, parts, "web", node, timeout=240)
        version = ("get", "node", node.name, "-o", "jsonpath={.status.nodeInfo.kubeletVersion}")
        assert run_kubectl(lab, parts, *version).text == f"v{kubernetes}"
        node_agent.leave(terminal)
        assert run_kubectl(lab, parts, "get", "nodes", "-o", "name").text.strip() == ""
        found = differences(before, look(one))
        assert not found, "\n".join(["", *found])
    finally:
        take_down(name, clock)
