"""A machine whose configuration is of one of the shapes before today's joins by it as it is."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from flexlab import machine, node_agent
from flexlab.testing import LabUnderTest, Machine
from vm.nodes import PROGRAM, clear_cluster, install, node_object, set_config, terminal_of, verb

pytestmark = [pytest.mark.vm, pytest.mark.full, pytest.mark.timeout(1200)]

CONFIG = "/etc/aks-flex-node/config.json"

GUID = "00000000-0000-0000-0000-00000000000{}"
AZURE = {
    "subscriptionId": GUID.format(1),
    "tenantId": GUID.format(2),
    "cloud": "AzurePublicCloud",
    "targetCluster": {
        "resourceId": f"/subscriptions/{GUID.format(1)}/resourceGroups/edge/providers/"
        "Microsoft.ContainerService/managedClusters/factory",
        "location": "westus",
    },
}


@pytest.fixture
def prepared(make_machine: Callable[..., Machine], session_lab: LabUnderTest) -> Iterator[Machine]:
    """A machine with the program, and the lab's configuration of today."""
    one = make_machine("edge1")
    install(one, session_lab)
    yield one
    clear_cluster(session_lab)


def read_config(one: Machine) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(one.sh(f"cat {CONFIG}"))
    return found


def replace_config(one: Machine, document: dict[str, Any]) -> None:
    """The old document, as secret as a document with a token has to be."""
    script = f"cat >{CONFIG}.new && chmod 0600 {CONFIG}.new && mv {CONFIG}.new {CONFIG}"
    machine.run(one.lab, one.node, script, stdin=json.dumps(document).encode())


def join(one: Machine, lab: LabUnderTest) -> None:
    one.sh(f"systemctl enable --now {PROGRAM}-agent")
    node_agent.wait_until_ready(terminal_of(one), lab.parts, lab.clock, timeout=600)


def leave(one: Machine, lab: LabUnderTest) -> None:
    assert verb(one, "unbootstrap", "--yes")["result"] == "left"
    assert lab.kubectl("get", "nodes", "-o", "name").strip() == ""


def test_a_machine_of_the_first_shape_joins(prepared: Machine, session_lab: LabUnderTest) -> None:
    """That shape knew no bootstrap token, and no cluster but those of Azure: a drop-in adds both."""
    one, lab = prepared, session_lab
    today = read_config(one)
    document = {
        "azure": AZURE,
        "kubernetes": {"version": f"v{today['versions']['kubernetes']}"},
        "agent": {"logLevel": "debug", "logDir": "/var/log/edge"},
    }
    added = ("cluster", "auth", "kubelet", "runtime", "host", "artifacts")
    set_config(one, "50-lab", {name: today[name] for name in added if name in today})
    replace_config(one, document)
    join(one, lab)
    version = node_object(lab, one.node.name)["status"]["nodeInfo"]["kubeletVersion"]
    assert version == f"v{today['versions']['kubernetes']}"
    assert "begin: apply" in one.sh("cat /var/log/edge/aks-flex-node.log")
    leave(one, lab)


def test_a_machine_of_the_later_shape_joins_with_the_token_in_it(
    prepared: Machine, session_lab: LabUnderTest
) -> None:
    """All that it takes to join stands in the old document; where files come from is the lab's own."""
    one, lab = prepared, session_lab
    today = read_config(one)
    document = {
        "azure": {**AZURE, "bootstrapToken": {"token": today["auth"]["bootstrapToken"]}},
        "components": {"kubernetes": today["versions"]["kubernetes"]},
        "networking": {"dnsServiceIP": today["cluster"]["dnsServiceIP"]},
        "node": {
            "maxPods": 42,
            "labels": {"example.com/rack": "17"},
            "taints": ["example.com/site=edge:PreferNoSchedule"],
            "kubelet": {
                "clusterFQDN": today["cluster"]["server"].removeprefix("https://"),
                "caCertData": b64encode(today["cluster"]["ca"].encode()).decode(),
                "nodeIP": str(one.node.address),
                "verbosity": 4,
                "imageGCHighThreshold": 70,
                "imageGCLowThreshold": 60,
            },
        },
        "agent": {"logLevel": "info"},
    }
    set_config(one, "50-lab", {name: today[name] for name in ("runtime", "host", "artifacts")})
    replace_config(one, document)
    join(one, lab)
    found = node_object(lab, one.node.name)
    assert found["status"]["capacity"]["pods"] == "42"
    assert found["metadata"]["labels"]["example.com/rack"] == "17"
    assert {"key": "example.com/site", "value": "edge", "effect": "PreferNoSchedule"} in found["spec"][
        "taints"
    ]
    kubelet = json.loads(one.sh("cat /etc/kubernetes/kubelet/config.json"))
    assert (kubelet["imageGCHighThresholdPercent"], kubelet["imageGCLowThresholdPercent"]) == (70, 60)
    assert kubelet["logging"]["verbosity"] == 4
    leave(one, lab)
