"""Of many sources the strongest wins, maps merge, lists replace, and every value knows its origin."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.config.decode import decode_layer
from flexnode.config.layers import Layer, merge
from flexnode.config.problems import InvalidConfig
from flexnode.config.resolve import Resolved, digest, fill_detected, find_origin
from unit.config.samples import CA, CLUSTER_ID, GUID, TOKEN, problems_of, resolve_documents, small, with_value

# A few settings of every kind that merging could treat differently.
SECTIONS = st.fixed_dictionaries(
    {},
    optional={
        "kubelet": st.fixed_dictionaries(
            {},
            optional={
                "maxPods": st.integers(1, 1024),
                "kubeReserved": st.dictionaries(
                    st.sampled_from(["cpu", "memory"]), st.sampled_from(["1", "2"])
                ),
            },
        ),
        "node": st.fixed_dictionaries(
            {},
            optional={
                "labels": st.dictionaries(st.sampled_from(["a", "b/c", "d.e/f"]), st.sampled_from("xyz")),
                "taints": st.lists(st.sampled_from(["a:NoExecute", "b:NoSchedule"]), unique=True),
            },
        ),
        "auth": st.fixed_dictionaries(
            {},
            optional={
                "bootstrapToken": st.sampled_from([{"file": "/a"}, {"credential": "b"}]),
                "managedIdentity": st.fixed_dictionaries({}, optional={"clientId": st.just(GUID.format(1))}),
            },
        ),
        "runtime": st.fixed_dictionaries(
            {},
            optional={
                "registries": st.dictionaries(
                    st.sampled_from(["docker.io", "_default"]),
                    st.fixed_dictionaries({}, optional={"ca": st.just(CA), "mirrors": st.just(["http://m"])}),
                )
            },
        ),
    },
)
ATOMS = {"bootstrapToken"}  # a map by its form, one value by its meaning


def lay_over(weaker: dict[str, Any], stronger: dict[str, Any]) -> dict[str, Any]:
    """What merging means, as naively as it can be said."""
    merged = deepcopy(weaker)
    for key, value in stronger.items():
        if isinstance(value, dict) and key in merged and key not in ATOMS:
            merged[key] = lay_over(merged[key], value)
        else:
            merged[key] = deepcopy(value)
    return merged


def without_empty_sections(data: dict[str, Any]) -> dict[str, Any]:
    return {name: section for name, section in data.items() if section}


@given(st.lists(SECTIONS, max_size=5))
def test_the_strongest_wins(documents: list[dict[str, Any]]) -> None:
    layers = [
        decode_layer(Layer(origin=str(number), data=document, fragment=True))
        for number, document in enumerate(documents)
    ]
    merged, provenance = merge(layers)
    expected: dict[str, Any] = {}
    for document in documents:
        expected = lay_over(expected, document)
    assert without_empty_sections(merged) == without_empty_sections(expected)
    for path, found in provenance.items():
        value: Any = expected
        for step in path:
            value = value[step]
        assert found.winner.value == value
        sources = [int(said.origin) for said in (found.winner, *found.overrode)]
        assert sources == sorted(sources, reverse=True)


def test_a_value_knows_where_it_comes_from_and_what_it_overrode() -> None:
    resolved = resolve_documents(
        small(kubelet={"maxPods": 30, "verbosity": 3}), {**small(), "kubelet": {"maxPods": 50}}
    )
    found = resolved.provenance["kubelet", "maxPods"]
    assert (found.winner.origin, found.winner.value) == ("b", 50)
    assert [(said.origin, said.value) for said in found.overrode] == [("a", 30)]
    verbosity = resolved.provenance["kubelet", "verbosity"]
    assert [(said.origin, said.value) for said in verbosity.overrode] == [("default", 2)]
    assert find_origin(resolved, "kubelet.imageGCHighThresholdPercent") == "default"
    assert find_origin(resolved, "kubelet.podPidsLimit") is None


def test_each_label_has_an_origin_of_its_own() -> None:
    resolved = resolve_documents(
        small(node={"labels": {"a": "1", "b": "1"}}), small(node={"labels": {"b": "2"}})
    )
    assert resolved.spec.identity.labels == {"a": "1", "b": "2"}
    assert [find_origin(resolved, f"node.labels.{name}") for name in "ab"] == ["a", "b"]


def test_a_reference_to_a_secret_replaces_another_one() -> None:
    """Merged like maps, {file} and {credential} would become both."""
    resolved = resolve_documents(
        with_value(("auth", "bootstrapToken"), {"file": "/a"}),
        with_value(("auth", "bootstrapToken"), {"credential": "b"}),
    )
    assert resolved.data["auth"]["bootstrapToken"] == {"credential": "b"}


def test_defaults_of_azure_hold_only_where_azure_is_used() -> None:
    assert resolve_documents(small()).spec.azure is None
    azure = resolve_documents(small(azure={"tenantId": GUID.format(1)})).spec.azure
    assert azure is not None
    assert (azure.cloud, azure.arc_auto_role_assignment) == ("AzurePublicCloud", True)


def test_problems_of_all_sources_are_told_together() -> None:
    problems = problems_of(small(kubelet={"maxPods": 0}), {"node": {"name": "A"}, **small(proxy=1)})
    assert [(problem.origin, problem.path) for problem in problems] == [
        ("a", ("kubelet", "maxPods")),
        ("b", ("node", "name")),
        ("b", ("proxy",)),
    ]


def detected(**values: Any) -> Resolved:
    return fill_detected(
        resolve_documents(small(cluster={**small()["cluster"], "dnsServiceIP": "10.0.0.99"})),
        {name.replace("__", "."): value for name, value in values.items()},
    )


def test_what_was_detected_fills_what_nobody_set() -> None:
    resolved = detected(node__name="edge-1", cluster__dnsServiceIP="10.0.0.10", versions__kubernetes="1.34")
    assert resolved.spec.identity.name == "edge-1"
    assert resolved.spec.machine.versions.kubernetes == "1.34"
    assert find_origin(resolved, "node.name") == "detected"


def test_what_was_detected_never_wins_over_a_user() -> None:
    resolved = detected(cluster__dnsServiceIP="10.0.0.10")
    assert resolved.spec.cluster.dns_service_ip == "10.0.0.99"
    assert find_origin(resolved, "cluster.dnsServiceIP") == "a"


def test_what_was_detected_must_be_acceptable_too() -> None:
    with pytest.raises(InvalidConfig) as raised:
        detected(node__name="Edge_1")
    (problem,) = raised.value.problems
    assert (problem.origin, problem.path) == ("detected", ("node", "name"))


@pytest.mark.parametrize("name", ["kubelet.maxPods", "auth.bootstrapToken", "nowhere", "kubelet"])
def test_what_is_not_detected_cannot_be_filled(name: str) -> None:
    with pytest.raises(ValueError, match="is not a setting that is detected"):
        fill_detected(resolve_documents(small()), {name: "x"})


def test_the_ca_of_an_aks_cluster_is_filled_in() -> None:
    resolved = resolve_documents({**small(), "cluster": {}, "azure": {"cluster": {"resourceId": CLUSTER_ID}}})
    filled = fill_detected(resolved, {"cluster.ca": CA, "cluster.server": "https://aks.example.com:443"})
    assert (filled.spec.cluster.ca, filled.spec.cluster.server) == (CA, "https://aks.example.com:443")


def test_the_digest_tells_values_apart_and_not_their_sources() -> None:
    plain = digest(resolve_documents(small()))
    assert digest(resolve_documents(small(), small())) == plain
    assert digest(resolve_documents(small(kubelet={"verbosity": 2}))) == plain  # what it is anyway
    assert digest(resolve_documents(small(kubelet={"verbosity": 3}))) != plain
    assert digest(resolve_documents(small(node={"labels": {"a": "b"}}))) != plain


def test_the_digest_knows_no_secret() -> None:
    """It is written to status; a short secret could be guessed from it."""
    other = with_value(("auth", "bootstrapToken"), TOKEN.replace("a", "b"))
    assert digest(resolve_documents(small())) == digest(resolve_documents(other))
    moved = with_value(("auth", "bootstrapToken"), {"file": "/a"})
    assert digest(resolve_documents(small())) != digest(resolve_documents(moved))
    one, two, three = (
        digest(resolve_documents(small(proxy={"http": f"http://{login}proxy:3128"})))
        for login in ("me:one@", "me:two@", "")
    )
    assert one == two != three
