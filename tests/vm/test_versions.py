"""Every cluster version with every Debian: what `flexlab up` offers must give a node that runs pods."""

from __future__ import annotations

import os

import pytest

from flexlab import handmade
from flexlab.cluster import Request, bring_up, observe, parts_of, take_down
from flexlab.control_plane import run_kubectl
from flexlab.model import Suite
from flexlab.parts import available_kubernetes
from flexnode.clock import SystemClock
from flexnode.progress import Silent

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
