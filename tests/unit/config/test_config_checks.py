"""Settings that cannot hold together are refused, whichever sources they come from."""

from __future__ import annotations

from typing import Any

import pytest

from flexnode.config.problems import render_path
from unit.config.samples import CA, CLUSTER_ID, GUID, HASH, HEADER, TOKEN, problems_of, small

PRINCIPAL = {"tenantId": GUID.format(2), "clientId": GUID.format(3), "clientSecret": "secret"}
AKS = {"cluster": {"resourceId": CLUSTER_ID, "location": "westus"}, "tenantId": GUID.format(2)}

CONTRADICTIONS: list[tuple[dict[str, Any], str, str, str]] = [
    (
        {"kubelet": {"imageGCLowThresholdPercent": 85}},
        "kubelet.imageGCLowThresholdPercent",
        "is not below imageGCHighThresholdPercent, which is 85",
        "",
    ),
    (
        {"kubelet": {"shutdownGracePeriodCriticalPods": "1m"}},
        "kubelet.shutdownGracePeriodCriticalPods",
        "is longer than shutdownGracePeriod, which is 30s",
        "",
    ),
    (
        {"kubelet": {"imageGCHighThresholdPercent": 70}},
        "kubelet.imageGCHighThresholdPercent",
        "is not above imageGCLowThresholdPercent, which is 80",
        "set imageGCLowThresholdPercent, too",
    ),
    (
        {"kubelet": {"shutdownGracePeriod": "5s"}},
        "kubelet.shutdownGracePeriod",
        "is shorter than shutdownGracePeriodCriticalPods, which is 10s",
        "set shutdownGracePeriodCriticalPods, too",
    ),
    (
        {"kubelet": {"serializeImagePulls": True, "maxParallelImagePulls": 2}},
        "kubelet.maxParallelImagePulls",
        "contradicts serializeImagePulls",
        "drop one",
    ),
    (
        {
            "kubelet": {
                "credentialProviders": [
                    {"name": "a", "binary": "/a", "matchImages": ["a.example"]},
                    {"name": "a", "binary": "/b", "matchImages": ["b.example"]},
                ]
            }
        },
        "kubelet.credentialProviders",
        "names a provider twice",
        "",
    ),
    (
        {"cluster": {"podCIDR": "10.0.0.0/8", "serviceCIDR": "10.1.0.0/16"}},
        "cluster.podCIDR",
        "overlaps serviceCIDR, which is 10.1.0.0/16",
        "",
    ),
    (
        {"cluster": {"dnsServiceIP": "10.0.0.10", "serviceCIDR": "10.1.0.0/16"}},
        "cluster.dnsServiceIP",
        "lies outside serviceCIDR",
        "",
    ),
    (
        {"node": {"zone": "a", "labels": {"topology.kubernetes.io/zone": "b"}}},
        'node.labels["topology.kubernetes.io/zone"]',
        'contradicts node.zone, which is "a"',
        "keep one",
    ),
    (
        {"node": {"taints": ["a=1:NoExecute", "a=2:NoExecute"]}},
        "node.taints[1]",
        "has the key and the effect of a=1:NoExecute",
        "one taint of each",
    ),
    (
        {"auth": {"servicePrincipal": PRINCIPAL, "managedIdentity": {}}},
        "auth.managedIdentity",
        "at most one Azure credential",
        "keep one",
    ),
    (
        {"auth": {"servicePrincipal": PRINCIPAL, "arc": True}},
        "auth.arc",
        "stands beside auth.servicePrincipal",
        "keep one",
    ),
    (
        {"auth": {"managedIdentity": {}, "arc": True}, "azure": AKS},
        "auth.arc",
        "stands beside auth.managedIdentity",
        "keep one",
    ),
]


@pytest.mark.parametrize(("sections", "place", "what", "hint"), CONTRADICTIONS)
def test_a_contradiction_is_refused(sections: dict[str, Any], place: str, what: str, hint: str) -> None:
    (problem,) = problems_of(small(), {**HEADER, **sections})
    assert render_path(problem.path) == place
    assert what in problem.what
    assert hint in problem.hint
    assert problem.origin == "b"


def test_a_contradiction_between_sources_names_the_stronger() -> None:
    (problem,) = problems_of(
        small(kubelet={"imageGCLowThresholdPercent": 60}),
        small(kubelet={"imageGCHighThresholdPercent": 50}),
    )
    assert "which is 50" in problem.what
    assert problem.origin == "a"


MISSING: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["cluster.server"]),
    ({"cluster": {"server": "https://a.example"}}, ["cluster.ca"]),
    ({"cluster": {"ca": CA}}, ["cluster.server"]),
    (
        {"auth": {"servicePrincipal": {}}, "azure": {"cluster": AKS["cluster"]}},
        [
            "auth.servicePrincipal.clientId",
            "auth.servicePrincipal.clientSecret",
            "auth.servicePrincipal.tenantId",
        ],
    ),
    (
        {"auth": {"arc": True}},
        [
            "cluster.server",
            "azure.tenantId",
            "azure.arc.resourceGroup",
            "azure.arc.location",
            "azure.subscriptionId",
        ],
    ),
    ({"auth": {"arc": True}, "azure": AKS}, ["azure.arc.resourceGroup"]),
]


@pytest.mark.parametrize(("sections", "places"), MISSING)
def test_what_a_node_cannot_join_without_is_asked_for(sections: dict[str, Any], places: list[str]) -> None:
    problems = problems_of({**HEADER, **sections})
    assert [render_path(problem.path) for problem in problems] == places
    assert all("is missing" in problem.what for problem in problems)


@pytest.mark.parametrize(
    "sections",
    [
        {"cluster": {"server": "https://a.example", "caHashes": [HASH]}},
        {"cluster": {"server": "https://a.example", "ca": CA}},
        {"azure": AKS},
        {"azure": AKS, "auth": {"bootstrapToken": TOKEN, "servicePrincipal": PRINCIPAL}},
        {"azure": {**AKS, "arc": {"resourceGroup": "edge"}}, "auth": {"arc": True}},
        {"azure": AKS, "auth": {"servicePrincipal": {"clientId": GUID.format(1), "clientSecret": "x"}}},
        {"azure": {**AKS, "cloud": "Own", "resourceManagerEndpoint": "https://arm.example"}},
    ],
)
def test_what_is_enough_to_join_is_accepted(sections: dict[str, Any]) -> None:
    assert problems_of({**HEADER, **sections}) == ()


def test_an_image_can_be_made_without_a_cluster() -> None:
    assert problems_of({**HEADER, "runtime": {"cni": "none"}}, complete=False) == ()
    assert problems_of({**HEADER, "auth": {"servicePrincipal": {}}}, complete=False)


def test_what_was_not_accepted_is_not_said_to_be_missing() -> None:
    """One mistake is one error."""
    (problem,) = problems_of(small(cluster={"server": "http://a.example", "ca": CA}))
    assert problem.path == ("cluster", "server")
