"""What a user writes of kubelet and the Node is what kubelet runs with, and what the cluster knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from flexlab import handmade, machine, node_agent
from flexlab.testing import LabUnderTest, Machine
from vm import everything
from vm.nodes import (
    PROGRAM,
    clear_cluster,
    install,
    node_object,
    set_config,
    terminal_of,
    wait_until,
)

pytestmark = [pytest.mark.vm, pytest.mark.full, pytest.mark.timeout(1800)]


@pytest.fixture
def node(make_machine: Callable[..., Machine], session_lab: LabUnderTest) -> Iterator[Machine]:
    """A node that its agent has joined with every setting at another value than its default."""
    one, lab = make_machine("edge1"), session_lab
    install(one, lab)
    put_file(one, everything.LOGIN, everything.LOGIN_PROGRAM)
    settings = {
        "cluster": everything.CLUSTER,
        "node": {**everything.NODE, "ip": str(one.node.address)},
        "kubelet": everything.KUBELET,
    }
    set_config(one, "90-everything", settings)
    one.sh(f"systemctl enable --now {PROGRAM}-agent")
    node_agent.wait_until_ready(terminal_of(one), lab.parts, lab.clock, timeout=600)
    yield one
    clear_cluster(lab)


def put_file(one: Machine, path: str, text: str) -> None:
    machine.run(one.lab, one.node, f"cat >{path} && chmod 0755 {path}", stdin=text.encode())


def read_configz(lab: LabUnderTest, name: str) -> dict[str, Any]:
    """What kubelet says that it runs with."""
    found: dict[str, Any] = json.loads(lab.kubectl("get", "--raw", f"/api/v1/nodes/{name}/proxy/configz"))
    inner: dict[str, Any] = found["kubeletconfig"]
    return inner


def at(config: dict[str, Any], path: str) -> Any:
    """kubelet leaves out what is false."""
    found: Any = config
    for step in path.split("."):
        found = found.get(step, False)
    return found


def test_kubelet_runs_with_every_setting_that_was_made(node: Machine, session_lab: LabUnderTest) -> None:
    lab, name = session_lab, node.node.name
    config = read_configz(lab, name)
    wanted = {**everything.KUBELET, **everything.OTHERWISE_IN_CONFIGZ}
    for setting, place in everything.CONFIGZ.items():
        if setting in everything.NOT_IN_CONFIGZ:
            continue
        found = at(config, place)
        if isinstance(wanted[setting], dict):  # kubelet adds signals and gates of its own
            found = {key: found[key] for key in wanted[setting]}
        assert found == wanted[setting], setting
    assert config["clusterDomain"] == everything.CLUSTER["domain"]
    assert config["clusterDNS"] == [everything.CLUSTER["dnsServiceIP"]]
    assert config["registerWithTaints"] == [
        {"key": "example.com/site", "value": "edge", "effect": "PreferNoSchedule"}
    ]

    handmade.run_pod(lab.lab, lab.parts, "web", node.node, timeout=240)
    asked = node.sh(f"cat {everything.LOGIN_TRACE}")
    assert asked.startswith("hall --quiet\n")
    assert json.loads(asked.partition("\n")[2])["apiVersion"] == everything.PROVIDER["apiVersion"]

    found = node_object(lab, name)
    labels = found["metadata"]["labels"]
    assert labels["example.com/rack"] == "7"
    assert labels["topology.kubernetes.io/region"] == everything.NODE["region"]
    assert labels["topology.kubernetes.io/zone"] == everything.NODE["zone"]
    assert found["spec"]["providerID"] == everything.NODE["providerID"]
    assert {"key": "example.com/site", "value": "edge", "effect": "PreferNoSchedule"} in found["spec"][
        "taints"
    ]
    assert {"type": "InternalIP", "address": str(node.node.address)} in found["status"]["addresses"]
    assert found["status"]["capacity"]["pods"] == "42"
    wait_until(
        "annotated",
        lambda: (
            everything.NODE["annotations"].items()
            <= node_object(lab, name)["metadata"]["annotations"].items()
        ),
        lab.clock,
        timeout=180,
    )
