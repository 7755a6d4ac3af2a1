"""Every setting reaches the node: one that is accepted and does nothing is worse than one that is refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from flexnode.config import v1
from flexnode.config.problems import Path, render_path
from flexnode.config.tree import UNSET, Setting, settings
from flexnode.model.machine import CredentialProvider
from flexnode.model.spec import AzureSpec, NodeSpec
from unit.config.samples import CA, GUID
from unit.config.values import other_value, place, spec_of

PLAIN = [(path, setting) for path, setting in settings(v1.NODE_CONFIG) if "[]" not in path]
PRINCIPAL = {"tenantId": GUID.format(8), "clientId": GUID.format(8), "clientSecret": {"file": "/8"}}


def around(path: Path) -> dict[str, Any]:
    """What a setting needs beside it to be allowed."""
    if path[:2] == ("auth", "servicePrincipal"):
        return {"auth": {"servicePrincipal": dict(PRINCIPAL)}}
    if path[:1] == ("azure",):
        return {"azure": {"tenantId": GUID.format(9), "resourceManagerEndpoint": "https://other.example"}}
    if path[-1] == "imageGCHighThresholdPercent":
        return {"kubelet": {"imageGCLowThresholdPercent": 0}}
    return {}


@pytest.mark.parametrize(("path", "setting"), PLAIN, ids=[render_path(path) for path, _ in PLAIN])
def test_a_setting_reaches_the_node(path: Path, setting: Setting) -> None:
    value = other_value(setting.type, setting.default)
    before, after = spec_of(around(path)), spec_of(place(path, value, around(path)))
    assert before != after
    changed = [
        field.name
        for field in dataclasses.fields(NodeSpec)
        if getattr(before, field.name) != getattr(after, field.name)
    ]
    assert changed == [expected_part(path)]


def expected_part(path: Path) -> str:
    if path[0] == "auth":
        return "credentials"
    parts = {
        "node": "identity",
        "versions": "machine",
        "runtime": "machine",
        "host": "machine",
        "proxy": "machine",
    }
    return parts.get(str(path[0]), str(path[0]))


def test_defaults_are_those_of_the_model() -> None:
    """Stated twice, in the declaration and in the model, they must be the same."""
    assert spec_of({}) == NodeSpec()
    azure = spec_of({"azure": {"tenantId": GUID.format(1)}}).azure
    assert azure == AzureSpec(tenant_id=GUID.format(1))
    provider = {"name": "a", "binary": "/a", "matchImages": ["a.example"]}
    (found,) = spec_of({"kubelet": {"credentialProviders": [provider]}}).kubelet.credential_providers
    assert found == CredentialProvider(name="a", binary="/a", match_images=("a.example",))
    declared = {
        path[-1]: setting.default
        for path, setting in settings(v1.NODE_CONFIG)
        if "[]" in path and setting.default is not UNSET
    }
    assert declared == {
        "apiVersion": found.api_version,
        "cacheDuration": found.cache_duration,
        "args": list(found.args),
    }


def test_a_whole_provider_reaches_the_node() -> None:
    provider = {
        "name": "a",
        "binary": "/a",
        "matchImages": ["*.a.example"],
        "apiVersion": "credentialprovider.kubelet.k8s.io/v1beta1",
        "cacheDuration": "1h",
        "args": ["--x"],
        "env": {"A": "b"},
    }
    (found,) = spec_of({"kubelet": {"credentialProviders": [provider]}}).kubelet.credential_providers
    assert found == CredentialProvider(
        name="a",
        binary="/a",
        match_images=("*.a.example",),
        api_version="credentialprovider.kubelet.k8s.io/v1beta1",
        cache_duration="1h",
        args=("--x",),
        env={"A": "b"},
    )


def leaves_of(value: Any, at: str = "") -> set[str]:
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return {at}
    return set().union(
        *(leaves_of(getattr(value, field.name), f"{at}.{field.name}") for field in dataclasses.fields(value))
    )


def test_every_field_of_the_model_can_be_set() -> None:
    """A field that no setting reaches is one that users cannot have."""
    document: dict[str, Any] = {}
    for path, setting in PLAIN:
        if path[0] != "auth":
            place(path, other_value(setting.type, setting.default), document)
    document["azure"]["cloud"] = "Other"
    document["kubelet"]["maxParallelImagePulls"] = 1
    document["kubelet"] |= {"imageGCLowThresholdPercent": 1, "imageGCHighThresholdPercent": 2}
    document["kubelet"] |= {"shutdownGracePeriod": "1m", "shutdownGracePeriodCriticalPods": "50s"}
    document["cluster"] |= {"podCIDR": "10.244.0.0/16", "serviceCIDR": "10.0.0.0/16"}
    plain, full = spec_of({"azure": {"tenantId": GUID.format(9)}}), spec_of(document)

    def at(spec: Any, name: str) -> Any:
        for step in name.strip(".").split("."):
            spec = getattr(spec, step)
        return spec

    unreached = {
        name
        for name in leaves_of(full)
        if not name.startswith(".credentials") and at(plain, name) == at(full, name)
    }
    assert unreached == set()


def test_durations_arrive_in_seconds() -> None:
    agent = spec_of({"agent": {"bootstrapTimeout": "1h30m", "verifyTimeout": "1500ms"}}).agent
    assert (agent.bootstrap_timeout, agent.verify_timeout) == (5400.0, 1.5)


def test_registries_come_in_an_order_that_does_not_depend_on_the_document() -> None:
    """A generation's id is a hash: the same configuration must give the same bytes."""
    one = {"runtime": {"registries": {"b.example": {}, "a.example": {"ca": CA.strip()}}}}
    registries = spec_of(one).machine.runtime.registries
    assert [each.registry for each in registries] == ["a.example", "b.example"]
    assert registries[0].ca == CA
