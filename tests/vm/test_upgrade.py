"""Another minor version of Kubernetes on a real node: its pods leave first, and come back when it is Ready.

The cluster has the new version already, as clusters do; so the lab is one of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from flexlab import node_agent
from flexlab.cluster import Request, bring_up, take_down
from flexlab.model import Suite
from flexlab.node_agent.config import OVERLAY
from flexlab.parts import available_kubernetes, ensure_parts
from flexlab.testing import LabUnderTest, Machine
from flexnode.clock import SystemClock
from flexnode.progress import Silent
from vm.nodes import invocation, is_ready, node_object, set_config, terminal_of, verb, wait_until

pytestmark = [pytest.mark.vm, pytest.mark.full, pytest.mark.timeout(3600)]  # a first build takes minutes

OLD, NEW = available_kubernetes()[0], available_kubernetes()[-1]
NEW_OVERLAY = f"{OVERLAY}.new"
CHANGE = {
    "versions": {"kubernetes": NEW},
    "artifacts": {"overlays": [OVERLAY, NEW_OVERLAY]},
    "agent": {"drain": {"timeout": "20s"}},
}


@pytest.fixture
def lab() -> Iterator[LabUnderTest]:
    name = f"upgrade-{os.getpid()}"
    clock = SystemClock()
    try:
        bring_up(Request(name=name, nodes=1, suite=Suite.BOOKWORM, kubernetes=NEW), Silent(), clock)
        yield LabUnderTest(name=name)
    finally:
        take_down(name, clock)


@pytest.fixture
def node(lab: LabUnderTest) -> Machine:
    """A node of the old version, whose agent could fetch the new one too."""
    one = Machine(lab=lab.lab, node=lab.lab.spec.nodes[0])
    terminal = terminal_of(one)
    node_agent.join(terminal, ensure_parts(OLD, progress=Silent()), lab.clock)
    terminal.copy(lab.parts.overlay, NEW_OVERLAY)
    return one


def run_guarded_pod(lab: LabUnderTest) -> None:
    """A Deployment of one pod, and a budget that lets nobody evict it."""
    labels = {"app": "web"}
    container = {
        "name": "web",
        "image": lab.parts.image("busybox").reference,
        "command": ["sleep", "1000000"],
    }
    objects = [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
                },
            },
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web-budget"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
        },
    ]
    document = {"apiVersion": "v1", "kind": "List", "items": objects}
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(document).encode())
    lab.kubectl("rollout", "status", "deployment/web", "--timeout=240s", timeout=250)


def pod_of(lab: LabUnderTest) -> str:
    """The UID of the pod that runs; empty while none does."""
    pods = json.loads(lab.kubectl("get", "pods", "-l", "app=web", "-o", "json"))["items"]
    running = [each for each in pods if each["status"]["phase"] == "Running"]
    return str(running[0]["metadata"]["uid"]) if running else ""


def failure(one: Machine) -> str:
    agent = verb(one, "status")["agent"]
    return str(agent["failure"]["code"]) if agent and agent["failure"] else ""


def test_a_minor_upgrade_waits_for_pods_to_leave_and_lets_them_come_back(
    node: Machine, lab: LabUnderTest
) -> None:
    clock, name = lab.clock, node.node.name
    assert node_object(lab, name)["status"]["nodeInfo"]["kubeletVersion"] == f"v{OLD}"
    run_guarded_pod(lab)
    pod, kubelet = pod_of(lab), invocation(node, "kubelet")

    set_config(node, "50-version", CHANGE)
    wait_until("refused", lambda: failure(node) == "drain/timeout", clock, timeout=400)
    agent = verb(node, "status")["agent"]
    assert agent["needs"] == "drain"
    assert "web-budget" in agent["failure"]["message"]
    assert node_object(lab, name)["spec"].get("unschedulable") is True
    assert invocation(node, "kubelet") == kubelet
    assert pod_of(lab) == pod

    lab.kubectl("delete", "poddisruptionbudget", "web-budget")
    wait_until(
        "upgraded",
        lambda: node_object(lab, name)["status"]["nodeInfo"]["kubeletVersion"] == f"v{NEW}",
        clock,
        timeout=600,
    )
    wait_until(
        "uncordoned",
        lambda: "unschedulable" not in node_object(lab, name)["spec"],
        clock,
        timeout=300,
    )
    assert is_ready(lab, name)
    wait_until("a pod runs again", lambda: pod_of(lab) not in ("", pod), clock, timeout=240)
    wait_until("the agent rests", lambda: verb(node, "status")["agent"]["healthy"], clock, timeout=120)
    assert verb(node, "status")["state"]["cordoned"] is False
