"""Documents to change at will, and what is asked of them in every test."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from flexnode.config.decode import decode_layer
from flexnode.config.layers import Layer
from flexnode.config.problems import InvalidConfig, Problem
from flexnode.config.resolve import Resolved, resolve

HEADER = {"apiVersion": "flexnode.io/v1", "kind": "NodeConfig"}
TOKEN = "abcdef.0123456789abcdef"
CLIENT_SECRET = "not-to-be-shown"
HASH = "sha256:" + "ab" * 32
GUID = "00000000-0000-0000-0000-00000000000{}"
CLUSTER_ID = (
    f"/subscriptions/{GUID.format(1)}/resourceGroups/edge/providers/"
    "Microsoft.ContainerService/managedClusters/factory"
)

# The outline of a certificate and nothing in it: what is signed, how, and the signature.
_OUTLINE = b64encode(bytes.fromhex("300730003000030100")).decode()
CA = f"-----BEGIN CERTIFICATE-----\n{_OUTLINE}\n-----END CERTIFICATE-----\n"

SMALL: dict[str, Any] = {
    **HEADER,
    "cluster": {"server": "https://api.example.com:6443", "ca": CA},
    "auth": {"bootstrapToken": TOKEN},
}

FIRST: dict[str, Any] = {
    "azure": {
        "subscriptionId": GUID.format(1),
        "tenantId": GUID.format(2),
        "cloud": "AzurePublicCloud",
        "servicePrincipal": {"clientId": GUID.format(3), "clientSecret": CLIENT_SECRET},
        "arc": {
            "machineName": "edge-1",
            "tags": {"environment": "edge", "node-type": "worker"},
            "resourceGroup": "edge-machines",
            "location": "westus",
            "autoRoleAssignment": False,
        },
        "targetCluster": {"resourceId": CLUSTER_ID, "location": "westus"},
    },
    "kubernetes": {"version": "1.30.0"},
    "agent": {"logLevel": "debug", "logDir": "/var/log/edge"},
}

LATER: dict[str, Any] = {
    "azure": {
        "subscriptionId": GUID.format(1),
        "tenantId": GUID.format(2),
        "cloud": "AzurePublicCloud",
        "resourceManagerEndpoint": "https://management.example.com/",
        "targetAgentPoolName": "flex",
        "bootstrapToken": {"token": TOKEN},
        "servicePrincipal": {
            "tenantId": GUID.format(4),
            "clientId": GUID.format(3),
            "clientSecret": CLIENT_SECRET,
        },
        "arc": {
            "enabled": False,
            "machineName": "edge-1",
            "tags": {"environment": "edge"},
            "resourceGroup": "edge-machines",
            "location": "westus",
            "autoRoleAssignment": True,
        },
        "targetCluster": {"resourceId": CLUSTER_ID, "location": "westus"},
    },
    "components": {
        "kubernetes": "v1.30.0",
        "containerd": "2.0.0",
        "runc": "v1.2.0",
        "sandboxImage": "registry.example.com/pause:3",
    },
    "bootstrap": {"offlineArtifacts": {"source": "file:///opt/artifacts/{{ .KubernetesVersion }}"}},
    "networking": {"dnsServiceIP": "10.0.0.10", "cniVersion": "1.6.0"},
    "node": {
        "maxPods": 42,
        "labels": {"example.com/rack": "17"},
        "taints": ["example.com/dedicated=gpu:NoSchedule"],
        "kubelet": {
            "clusterFQDN": "factory.example.com",
            "caCertData": b64encode(CA.encode()).decode(),
            "nodeIP": "192.168.7.4",
            "verbosity": 4,
            "imageGCHighThreshold": 70,
            "imageGCLowThreshold": 60,
        },
    },
    "npd": {"version": "v1.0.0"},
    "agent": {
        "logLevel": "warning",
        "logDir": "/var/log/edge",
        "nodeName": "edge-1",
        "machineReconcileInterval": "10m",
        "requireMachineRegistration": True,
    },
}


def small(**sections: Any) -> dict[str, Any]:
    """The smallest document that joins, with other sections in place of its own or besides."""
    return {**deepcopy(SMALL), **sections}


def with_value(path: Sequence[str], value: object, document: Mapping[str, Any] = SMALL) -> dict[str, Any]:
    """A document with one value put at a path."""
    changed: dict[str, Any] = deepcopy(dict(document))
    inner = changed
    for step in path[:-1]:
        inner = inner.setdefault(step, {})
    inner[path[-1]] = value
    return changed


def resolve_documents(*documents: Mapping[str, Any], complete: bool = True) -> Resolved:
    """What documents give, the last one strongest; they are called a, b, c …"""
    layers = [
        decode_layer(Layer(origin=origin, data=document))
        for origin, document in zip("abcdefgh", documents, strict=False)
    ]
    return resolve(layers, complete=complete)


def problems_of(*documents: Mapping[str, Any], complete: bool = True) -> tuple[Problem, ...]:
    """What is wrong with documents; nothing if they are accepted."""
    try:
        resolve_documents(*documents, complete=complete)
    except InvalidConfig as error:
        return error.problems
    return ()
