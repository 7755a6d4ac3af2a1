"""A machine whose configuration is of one of the shapes before today's becomes a node by it as it is."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

from flexnode.generation.outcome import Result
from unit.config.samples import CLUSTER_ID, GUID
from unit.flows.world import TOKEN, World

KUBELET_CONFIG = "/etc/kubernetes/kubelet/config.json"

AZURE: dict[str, Any] = {
    "subscriptionId": GUID.format(1),
    "tenantId": GUID.format(2),
    "cloud": "AzurePublicCloud",
    "targetCluster": {"resourceId": CLUSTER_ID, "location": "westus"},
}


def add_drop_in(world: World, **sections: Any) -> None:
    """What an old document has no word for, beside it and in the words of today."""
    folder = world.folder / "etc" / "config.d"
    folder.mkdir(parents=True)
    path = folder / "50-site.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps(sections))


def kubelet_config(world: World) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(world.host.files.read(KUBELET_CONFIG))
    return found


def test_the_first_shape_joins_with_a_token_and_a_cluster_from_a_drop_in(world: World) -> None:
    """It knew no bootstrap token, and no cluster but those of Azure."""
    add_drop_in(world, **{name: world.config[name] for name in ("cluster", "auth", "artifacts")})
    world.config = {
        "azure": AZURE,
        "kubernetes": {"version": "v1.34"},
        "agent": {"logLevel": "debug", "logDir": "/var/log/edge"},
    }
    outcome = world.bootstrap()
    assert outcome.result is Result.CONFIRMED
    assert world.host.files.read("/usr/local/bin/kubelet").decode().startswith("kubelet 1.34.")
    assert world.bootstrap().result is Result.UNCHANGED


def test_the_later_shape_joins_with_all_that_stands_in_it(world: World) -> None:
    cluster = world.config["cluster"]
    add_drop_in(world, artifacts=world.config["artifacts"])
    world.config = {
        "azure": {**AZURE, "bootstrapToken": {"token": TOKEN}},
        "components": {"kubernetes": "1.34"},
        "networking": {"dnsServiceIP": "10.96.0.10"},
        "node": {
            "maxPods": 42,
            "taints": ["example.com/site=edge:NoSchedule"],
            "kubelet": {
                "clusterFQDN": cluster["server"].removeprefix("https://"),
                "caCertData": b64encode(cluster["ca"].encode()).decode(),
                "verbosity": 4,
                "imageGCHighThreshold": 70,
                "imageGCLowThreshold": 60,
            },
        },
        "agent": {"logLevel": "info"},
    }
    assert world.bootstrap().result is Result.CONFIRMED
    kubelet = kubelet_config(world)
    assert (kubelet["maxPods"], kubelet["logging"]["verbosity"]) == (42, 4)
    assert (kubelet["imageGCHighThresholdPercent"], kubelet["imageGCLowThresholdPercent"]) == (70, 60)
    assert kubelet["registerWithTaints"] == [
        {"key": "example.com/site", "value": "edge", "effect": "NoSchedule"}
    ]
