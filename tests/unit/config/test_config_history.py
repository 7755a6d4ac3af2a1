"""Documents of before still work: both unversioned shapes say today what they said then."""

from __future__ import annotations

import json
import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.config.decode import decode_layer
from flexnode.config.history import FIRST as FIRST_SHAPE
from flexnode.config.history import LATER as LATER_SHAPE
from flexnode.config.history import convert, is_first
from flexnode.config.layers import Layer
from flexnode.config.problems import Report, render_path
from flexnode.config.render import make_document, reveal_document
from flexnode.config.resolve import find_origin
from flexnode.model.credentials import ArcIdentity, Credentials, ManagedIdentity, ServicePrincipal
from flexnode.model.machine import Versions
from flexnode.model.spec import AzureSpec, Effect, Taint
from flexnode.secret import Secret
from unit.config.samples import (
    CA,
    CLIENT_SECRET,
    CLUSTER_ID,
    FIRST,
    GUID,
    HEADER,
    LATER,
    TOKEN,
    problems_of,
    resolve_documents,
    with_value,
)

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "config"


def paths(data: dict[str, Any], shape: set[str], at: str = "") -> set[str]:
    found = set()
    for key, value in data.items():
        path = f"{at}{key}"
        found |= {path} if path in shape else paths(value, shape, f"{path}.")
    return found


def test_the_samples_hold_every_key() -> None:
    """A key that no sample holds could be lost unseen."""
    assert paths(FIRST, set(FIRST_SHAPE)) == set(FIRST_SHAPE)
    assert paths(LATER, set(LATER_SHAPE)) | {"azure.managedIdentity.clientId"} == set(LATER_SHAPE)


def test_the_first_shape_says_what_it_said() -> None:
    spec = resolve_documents(FIRST).spec
    assert spec.azure == AzureSpec(
        cloud="AzurePublicCloud",
        subscription_id=GUID.format(1),
        tenant_id=GUID.format(2),
        cluster_resource_id=CLUSTER_ID,
        cluster_location="westus",
        arc_machine_name="edge-1",
        arc_resource_group="edge-machines",
        arc_location="westus",
        arc_tags={"environment": "edge", "node-type": "worker"},
        arc_auto_role_assignment=False,
    )
    assert spec.machine.versions.kubernetes == "1.30.0"
    assert (spec.agent.log_level, spec.agent.log_directory) == ("debug", "/var/log/edge")
    assert spec.credentials.azure == ServicePrincipal(
        tenant_id=GUID.format(2), client_id=GUID.format(3), client_secret=Secret(CLIENT_SECRET)
    )


def test_the_later_shape_says_what_it_said() -> None:
    resolved = resolve_documents(LATER)
    spec = resolved.spec
    assert spec.azure == AzureSpec(
        cloud="AzurePublicCloud",
        subscription_id=GUID.format(1),
        tenant_id=GUID.format(2),
        resource_manager_endpoint="https://management.example.com",
        cluster_resource_id=CLUSTER_ID,
        cluster_location="westus",
        agent_pool_name="flex",
        arc_machine_name="edge-1",
        arc_resource_group="edge-machines",
        arc_location="westus",
        arc_tags={"environment": "edge"},
        arc_auto_role_assignment=True,
    )
    assert spec.machine.versions == Versions(
        kubernetes="1.30.0", containerd="2.0.0", runc="1.2.0", cni_plugins="1.6.0"
    )
    assert spec.machine.runtime.sandbox_image == "registry.example.com/pause:3"
    assert spec.artifacts.sources == ("file:///opt/artifacts/1.30.0",)
    assert spec.cluster.server == "https://factory.example.com:443"
    assert (spec.cluster.ca, spec.cluster.dns_service_ip) == (CA, "10.0.0.10")
    assert spec.identity.name == "edge-1"
    assert spec.identity.ip == "192.168.7.4"
    assert spec.identity.labels == {"example.com/rack": "17"}
    assert spec.identity.taints == (
        Taint(key="example.com/dedicated", value="gpu", effect=Effect.NO_SCHEDULE),
    )
    kubelet = spec.kubelet
    assert (kubelet.max_pods, kubelet.verbosity) == (42, 4)
    assert (kubelet.image_gc_high_percent, kubelet.image_gc_low_percent) == (70, 60)
    assert (spec.agent.log_level, spec.agent.log_directory) == ("warning", "/var/log/edge")
    assert spec.credentials == Credentials(
        bootstrap_token=Secret(TOKEN),
        azure=ServicePrincipal(
            tenant_id=GUID.format(4), client_id=GUID.format(3), client_secret=Secret(CLIENT_SECRET)
        ),
    )


def test_what_has_no_effect_any_more_is_said() -> None:
    """A setting that is read and does nothing is worse than one that is refused."""
    warned = [render_path(warning.path) for warning in resolve_documents(LATER).warnings]
    assert warned == [
        "bootstrap.offlineArtifacts.source",
        "npd.version",
        "agent.machineReconcileInterval",
        "agent.requireMachineRegistration",
    ]


def test_a_value_is_traced_to_its_old_key() -> None:
    resolved = resolve_documents(LATER)
    assert find_origin(resolved, "cluster.server") == "a (node.kubelet.clusterFQDN)"
    assert find_origin(resolved, 'node.labels["example.com/rack"]') == "a"
    assert find_origin(resolved, "azure.arc.tags.environment") == "a"
    assert find_origin(resolved, "kubelet.maxPods") == "a (node.maxPods)"


@pytest.mark.parametrize(("document", "name"), [(FIRST, "first"), (LATER, "later")])
def test_a_converted_document_is_as_reviewed(document: dict[str, Any], name: str) -> None:
    """Also a description of how the old keys are called now. UPDATE_GOLDEN=1 writes it anew."""
    layer = decode_layer(Layer(origin="a", data=document))
    assert layer.problems == ()
    text = json.dumps(make_document(layer.data), indent=2, ensure_ascii=False) + "\n"
    golden = GOLDEN / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


@pytest.mark.parametrize("document", [FIRST, LATER])
def test_a_converted_document_means_the_same(document: dict[str, Any]) -> None:
    layer = decode_layer(Layer(origin="a", data=document))
    assert resolve_documents(reveal_document(layer.data)).spec == resolve_documents(document).spec


def azure(**values: Any) -> dict[str, Any]:
    base = {key: FIRST["azure"][key] for key in ("subscriptionId", "tenantId", "targetCluster")}
    return {"azure": {**base, **values}}


ARC = FIRST["azure"]["arc"]


@pytest.mark.parametrize(
    ("document", "credential"),
    [
        (azure(), None),
        (azure(arc=ARC), ArcIdentity()),
        (azure(arc={**ARC, "enabled": True}), ArcIdentity()),
        (azure(arc={**ARC, "enabled": False}), None),
        ({**azure(arc=ARC), "components": {"kubernetes": "1.30.0"}}, None),
        (azure(managedIdentity={}), ManagedIdentity()),
        (azure(managedIdentity={"clientId": GUID.format(5)}), ManagedIdentity(client_id=GUID.format(5))),
        (azure(managedIdentity=None), None),
    ],
)
def test_the_credential_is_the_one_that_was_used(document: dict[str, Any], credential: object) -> None:
    assert resolve_documents(document).spec.credentials.azure == credential


@pytest.mark.parametrize(
    ("document", "first"),
    [
        (FIRST, True),
        (LATER, False),
        ({}, True),
        ({"kubernetes": {"version": "1.30.0"}}, True),
        ({"azure": {"arc": {"enabled": True}}}, False),
        ({"azure": {"bootstrapToken": {"token": "x"}}}, False),
        ({"agent": {"nodeName": "x"}}, False),
        ({"node": {}, "kubernetes": {}}, False),
    ],
)
def test_the_shape_is_told_by_its_keys(document: dict[str, Any], first: bool) -> None:
    assert is_first(document) is first


@pytest.mark.parametrize(
    ("path", "value", "place", "what", "hint"),
    [
        ("node.kubelet.clusterFQDN", 5, "node.kubelet.clusterFQDN", "is not the name of an API server", ""),
        ("node.kubelet.clusterFQDN", "a b", "node.kubelet.clusterFQDN", "is not a URL", ""),
        ("node.kubelet.caCertData", "!", "node.kubelet.caCertData", "is not base64", ""),
        ("node.kubelet.caCertData", "eA==", "node.kubelet.caCertData", "is not a certificate in PEM", ""),
        ("node.labels", {"k8s.io/a": "b"}, 'node.labels["k8s.io/a"]', "may not label itself", ""),
        ("node.maxPods", "50", "node.maxPods", "is not a whole number", "without quotes"),
        ("node.kubelet.verbose", 2, "node.kubelet.verbose", "is not a setting", "node.kubelet.verbosity?"),
        ("node.kubelet.nodeip", "x", "node.kubelet.nodeip", "is not a setting", "node.kubelet.nodeIP?"),
        ("kubernetes", {"version": "1.30.0"}, "kubernetes", "is not a setting", "components.kubernetes?"),
        ("kubelet", {"maxPods": 5}, "kubelet", "is not a setting", "begin the document with apiVersion"),
        ("azure.cloud", {"x": 1}, "azure.cloud", "is not the name of an Azure cloud", ""),
        ("azure", [], "azure", "is not a map", ""),
        ("azure.bootstrapToken.token", "x", "azure.bootstrapToken.token", "is not a bootstrap token", ""),
        ("components.runc", "new", "components.runc", "is not a version", ""),
        ("npd.version", 3, "npd.version", "is not a version", ""),
        (
            "agent.machineReconcileInterval",
            "often",
            "agent.machineReconcileInterval",
            "is not a duration",
            "",
        ),
        ("agent.requireMachineRegistration", 1, "agent.requireMachineRegistration", "is not true or", ""),
        (
            "bootstrap.offlineArtifacts.source",
            "/a/{{ .Arch }}",
            "bootstrap.offlineArtifacts.source",
            "a template that cannot be filled",
            "components.kubernetes",
        ),
    ],
)
def test_a_wrong_value_is_told_by_its_old_path(
    path: str, value: object, place: str, what: str, hint: str
) -> None:
    (problem,) = problems_of(with_value(path.split("."), value, LATER))
    assert render_path(problem.path) == place
    assert what in problem.what
    assert hint in problem.hint


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("node", "maxPods"), 0),
        (("node", "kubelet", "verbosity"), 0),
        (("node", "kubelet", "nodeIP"), ""),
        (("node", "taints"), None),
        (("components", "containerd"), ""),
        (("azure", "arc"), None),
        (("agent", "machineReconcileInterval"), 0),
    ],
)
def test_a_zero_means_not_set_as_it_did(path: tuple[str, ...], value: object) -> None:
    """The program that wrote these documents could not tell a zero from nothing."""
    found = decode_layer(Layer(origin="a", data=with_value(path, value, LATER)))
    without = deepcopy(LATER)
    inner = without
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    assert found.problems == ()
    assert found.data == decode_layer(Layer(origin="a", data=without)).data


@pytest.mark.parametrize(
    ("name", "server"),
    [
        ("a.example.com", "https://a.example.com:443"),
        ("a.example.com:6443", "https://a.example.com:6443"),
        ("https://a.example.com", "https://a.example.com"),
    ],
)
def test_every_way_to_name_the_server_is_read(name: str, server: str) -> None:
    document = with_value(("node", "kubelet", "clusterFQDN"), name, LATER)
    assert resolve_documents(document).spec.cluster.server == server


@pytest.mark.parametrize(
    ("header", "what"),
    [
        ({"apiVersion": HEADER["apiVersion"]}, ("kind", "is missing")),
        ({"kind": HEADER["kind"]}, ("apiVersion", "is missing")),
    ],
)
def test_half_a_header_is_not_taken_for_an_old_document(
    header: dict[str, str], what: tuple[str, str]
) -> None:
    problems = problems_of({**header, "kubelet": {"maxPods": 5}}, complete=False)
    assert [(render_path(problem.path), problem.what) for problem in problems] == [what]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)


@given(st.lists(st.tuples(st.sampled_from(sorted(LATER_SHAPE)), JSON), max_size=6), st.booleans())
def test_no_old_document_crashes(values: list[tuple[str, Any]], first: bool) -> None:
    document: dict[str, Any] = {"kubernetes": {"version": "1.30.0"}} if first else {}
    for path, value in values:
        inner: Any = document
        *steps, last = path.split(".")
        for step in steps:
            inner = inner.setdefault(step, {})
        inner[last] = value
    report = Report()
    converted = convert(document, report)
    again = decode_layer(Layer(origin="a", data=converted.data))
    assert again.problems == ()
