"""Every setting of the document has its place on a node, named here, and costs the node what its page says.

A setting that is added to the document and to neither table fails. What kubelet makes of its own settings is
confirmed on a real node, by tests/vm/test_settings.py.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from flexnode.components.node import compose_node
from flexnode.config import v1
from flexnode.config.kubelet_settings import KUBELET as KUBELET_SETTINGS
from flexnode.config.problems import render_path
from flexnode.config.tree import Effect, settings
from flexnode.config.types import Choice
from flexnode.generation.generation import Generation
from unit.components.samples import texts, with_spec
from unit.config.samples import CA, TOKEN
from unit.config.values import other_value, place, spec_of
from vm import everything

TESTS = Path(__file__).resolve().parents[2]
LEAVES = {render_path(path): (path, setting) for path, setting in settings(v1.NODE_CONFIG)}

KUBELET = "/etc/kubernetes/kubelet/config.json"
NODE = "/etc/systemd/system/kubelet.service.d/10-node.conf"
PROVIDERS = "/etc/kubernetes/kubelet/credential-providers.json"
PROVIDER = 'kubelet.credentialProviders["[]"]'
CERTS = "/etc/containerd/certs.d/docker.io"
CONTAINERD = "/etc/containerd/config.toml"
PROXY = "/etc/systemd/system/containerd.service.d/10-proxy.conf"
RULES = "/etc/kubernetes/masquerade.nft"

PLACES: Mapping[str, tuple[str, str]] = {
    "cluster.server": ("/etc/kubernetes/bootstrap-kubelet.conf", '"server"'),
    "cluster.ca": ("/etc/kubernetes/pki/ca.crt", ""),
    "cluster.dnsServiceIP": (KUBELET, "clusterDNS"),
    "cluster.domain": (KUBELET, "clusterDomain"),
    "cluster.serviceCIDR": (RULES, "ip daddr != {"),
    "cluster.podCIDR": (RULES, "ip daddr != {"),
    "node.name": (NODE, "--hostname-override="),
    "node.labels": (NODE, "--node-labels="),
    "node.taints": (KUBELET, "registerWithTaints"),
    "node.ip": (NODE, "--node-ip="),
    "node.providerID": (KUBELET, "providerID"),
    "node.region": (NODE, "topology.kubernetes.io/region="),
    "node.zone": (NODE, "topology.kubernetes.io/zone="),
    "kubelet.verbosity": (KUBELET, "logging"),
    "kubelet.servingCertificates": (KUBELET, "serverTLSBootstrap"),
    **{
        f"kubelet.{name}": (KUBELET, name)
        for name in (
            "maxPods",
            "imageGCHighThresholdPercent",
            "imageGCLowThresholdPercent",
            "kubeReserved",
            "systemReserved",
            "evictionHard",
            "podPidsLimit",
            "shutdownGracePeriod",
            "shutdownGracePeriodCriticalPods",
            "serializeImagePulls",
            "maxParallelImagePulls",
            "containerLogMaxSize",
            "containerLogMaxFiles",
            "protectKernelDefaults",
            "featureGates",
        )
    },
    "kubelet.credentialProviders": (PROVIDERS, "providers"),
    f"{PROVIDER}.name": (PROVIDERS, "providers"),
    f"{PROVIDER}.binary": ("link:/etc/kubernetes/kubelet/credential-providers/login", ""),
    f"{PROVIDER}.matchImages": (PROVIDERS, "providers"),
    f"{PROVIDER}.apiVersion": (PROVIDERS, "providers"),
    f"{PROVIDER}.cacheDuration": (PROVIDERS, "providers"),
    f"{PROVIDER}.args": (PROVIDERS, "providers"),
    f"{PROVIDER}.env": (PROVIDERS, "providers"),
    "runtime.sandboxImage": (CONTAINERD, "sandbox ="),
    "runtime.registries": (f"{CERTS}/hosts.toml", "[host."),
    'runtime.registries["*"].mirrors': (f"{CERTS}/hosts.toml", "[host."),
    'runtime.registries["*"].ca': (f"{CERTS}/ca.crt", ""),
    "runtime.preloadImages": ("image:registry.example.com/pause:3", ""),
    "runtime.cni": ("/etc/containerd/cni.template", ""),
    "host.manageSwap": ("swap:all", ""),
    "host.manageTime": ("unit:systemd-timesyncd.service", ""),
    "host.manageJournald": ("/etc/systemd/journald.conf.d/90-aks-flex-node.conf", ""),
    "host.manageUpdates": ("/etc/needrestart/conf.d/90-aks-flex-node.conf", ""),
    "host.manageFirewall": (RULES, ""),
    "host.supportTools": ("packages:support-tools", ""),
    "host.journaldMaxUse": ("/etc/systemd/journald.conf.d/90-aks-flex-node.conf", "SystemMaxUse="),
    "host.sysctls": ("/etc/sysctl.d/99-zz-aks-flex-node.conf", "net.core.somaxconn"),
    "host.modules": ("/etc/modules-load.d/aks-flex-node.conf", "nf_conntrack"),
    "host.caCertificates": ("unit:aks-flex-node-trust.service", ""),
    "proxy.http": (PROXY, '"HTTP_PROXY='),
    "proxy.https": (PROXY, '"HTTPS_PROXY='),
    "proxy.noProxy": (PROXY, '"NO_PROXY='),
}
"""Setting: the file (by its path) or other resource (by its key), and the word that its value stands with."""

BEHAVIOUR: Mapping[str, str] = {
    "cluster.caHashes": (
        "unit/flows/test_findings.py::test_an_authority_that_was_proven_is_the_nodes_authority_from_then_on"
    ),
    "node.annotations": (
        "unit/agent/test_daemon.py::test_labels_and_annotations_of_the_configuration_stand_on_the_node"
    ),
    "auth.bootstrapToken": "unit/flows/test_bootstrap.py::test_a_wrong_token_is_said_at_once",
    "versions.kubernetes": "unit/flows/test_parts.py::test_every_release_set_gives_a_whole_node",
    "versions.containerd": (
        "unit/flows/test_parts.py::test_a_version_that_the_user_names_wins_over_the_release_set"
    ),
    "versions.runc": "unit/flows/test_parts.py::test_a_version_that_the_user_names_wins_over_the_release_set",
    "versions.cniPlugins": (
        "unit/flows/test_parts.py::test_a_version_that_the_user_names_wins_over_the_release_set"
    ),
    "artifacts.sources": "unit/flows/test_supply.py::test_the_next_source_is_asked_where_one_has_it_not",
    "artifacts.caBundle": "unit/flows/test_supply.py::test_authorities_of_the_user_s_are_those_that_are_read",
    "artifacts.overlays": "unit/flows/test_parts.py::test_a_build_of_the_user_s_own_is_what_a_node_gets",
    "agent.logLevel": "unit/agent/test_daemon.py::test_another_log_is_written_at_once",
    "agent.logDirectory": "unit/agent/test_daemon.py::test_another_log_is_written_at_once",
    "agent.drift": "unit/agent/test_daemon.py::test_a_policy_to_report_changes_nothing",
    "agent.fullCheckInterval": (
        "unit/agent/test_daemon.py::test_the_full_check_comes_as_often_as_was_configured"
    ),
    "agent.bootstrapTimeout": (
        "unit/flows/test_bootstrap.py::test_a_first_join_is_waited_for_as_long_as_was_configured"
    ),
    "agent.verifyTimeout": (
        "unit/flows/test_bootstrap.py::test_a_change_is_waited_for_as_long_as_was_configured_and_no_longer"
    ),
    "agent.drain.timeout": "unit/flows/test_evacuating.py::test_a_budget_keeps_the_machine_as_it_is",
    "agent.drain.deleteEmptyDirData": (
        "unit/flows/test_evacuating.py::test_pods_that_would_be_lost_are_named_and_none_is_moved"
    ),
    "agent.drain.evictUnmanaged": (
        "unit/flows/test_evacuating.py::test_pods_that_would_be_lost_are_named_and_none_is_moved"
    ),
}
"""What no file of a node says: the test that shows what changes with it."""

CHECKED = ("azure.", "auth.servicePrincipal.", "auth.managedIdentity.", "auth.arc")
"""Read, checked and kept for the door to Azure; nothing on a machine follows from them yet."""

BASE: Mapping[str, Any] = {
    "cluster": {"server": "https://other.example:6443", "ca": CA},
    "auth": {"bootstrapToken": TOKEN},
    "proxy": {"http": "http://other.example:3128"},
    "kubelet": {
        "credentialProviders": [{"name": "login", "binary": "/opt/login", "matchImages": ["*.other.example"]}]
    },
    "runtime": {"registries": {"docker.io": {"mirrors": ["https://other.example"]}}},
}

VALUES: Mapping[str, Any] = {
    "cluster.ca": CA + CA,
    "kubelet.imageGCHighThresholdPercent": 90,
    "kubelet.imageGCLowThresholdPercent": 10,
    "kubelet.evictionHard": {"memory.available": "1Gi"},
}
"""Where a value made from the declaration would be the one that holds anyway, or needs others beside it."""


def is_checked_only(name: str) -> bool:
    return name.startswith(CHECKED)


def generation_of(document: Mapping[str, Any]) -> Generation:
    return compose_node(with_spec(spec_of(deepcopy(dict(document)))))


BEFORE = generation_of(BASE)


def change(name: str) -> Generation:
    """A node on which one setting has another value."""
    path, setting = LEAVES[name]
    value = VALUES[name] if name in VALUES else other_value(setting.type, setting.default)
    return generation_of(place(path, value, deepcopy(dict(BASE))))


def see(generation: Generation, where: str, word: str) -> object:
    """What stands at a place: the value of a key of JSON, the lines with a word, or the wanted state."""
    if not where.startswith("/"):
        return next((each.want for each in generation.resources if each.key == where), None)
    text = texts(generation).get(where)
    if text is None or not word:
        return text
    if where.endswith(".json"):
        return json.loads(text).get(word)
    return [line.partition(word)[2] for line in text.splitlines() if word in line]


def test_every_setting_is_listed_once() -> None:
    listed = [*PLACES, *BEHAVIOUR, *filter(is_checked_only, LEAVES)]
    assert sorted(listed) == sorted(LEAVES)


@pytest.mark.parametrize("name", PLACES)
def test_a_setting_is_found_where_it_is_said_to_go(name: str) -> None:
    assert see(change(name), *PLACES[name]) != see(BEFORE, *PLACES[name])


@pytest.mark.parametrize("test", sorted(set(BEHAVIOUR.values())))
def test_what_no_file_says_has_a_test_that_shows_it(test: str) -> None:
    file, _, name = test.partition("::")
    tree = ast.parse((TESTS / file).read_text())
    assert name in {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}


@pytest.mark.parametrize("name", sorted(filter(is_checked_only, LEAVES)))
def test_what_is_said_of_azure_changes_nothing_on_a_machine(name: str) -> None:
    """When it does, it has a place, and belongs into a table above."""
    path, setting = LEAVES[name]
    around = deepcopy(dict(BASE))
    if name.startswith("azure."):
        around["azure"] = {"resourceManagerEndpoint": "https://other.example"}
    if name.startswith("auth.servicePrincipal."):
        file = {"file": "/secret"}
        around["auth"]["servicePrincipal"] = {"tenantId": GUID, "clientId": GUID, "clientSecret": file}
    assert generation_of(place(path, other_value(setting.type, setting.default), around)).id == BEFORE.id


GUID = "00000000-0000-0000-0000-000000000008"

COSTS = {
    Effect.NOTHING: set(),
    Effect.KUBELET: {"kubelet.service"},
    Effect.REGISTRATION: {"kubelet.service"},
    Effect.CONTAINERD: {"containerd.service"},
    Effect.SERVICES: {"containerd.service", "kubelet.service"},
    Effect.NETWORK: {"containerd.service"},
}


@pytest.mark.parametrize("name", [name for name in PLACES if LEAVES[name][1].effect in COSTS])
def test_a_change_restarts_what_its_page_says_and_nothing_else(name: str) -> None:
    """Somebody plans a change by that page. This node has a proxy: what it exempts is a part of the cost."""
    then = {each.key: each for each in BEFORE.resources}
    now = {each.key: each for each in change(name).resources}
    changed = [key for key in then.keys() | now.keys() if then.get(key) != now.get(key)]
    restarted = {unit for key in changed for unit in now.get(key, then.get(key)).restarts}  # type: ignore[union-attr]
    assert restarted & COSTS[Effect.SERVICES] == COSTS[LEAVES[name][1].effect]


@pytest.mark.parametrize("name", PLACES)
def test_a_change_moves_pods_only_if_its_page_says_so(name: str) -> None:
    pairs = ((BEFORE.find(each.key), each) for each in change(name).resources)
    drains = any(then is not None and then.pods_rely_on != now.pods_rely_on for then, now in pairs)
    assert drains is (LEAVES[name][1].effect is Effect.NETWORK)


# What tests/vm/test_settings.py makes, so that a setting which it lacks is noticed without a machine.


def test_a_real_node_is_made_with_every_setting_of_kubelet() -> None:
    assert everything.KUBELET.keys() == KUBELET_SETTINGS.fields.keys()
    assert everything.CONFIGZ.keys() == everything.KUBELET.keys()
    assert everything.PROVIDER.keys() == {
        path[-1] for name, (path, _) in LEAVES.items() if name.startswith(f"{PROVIDER}.")
    }
    # The configuration's name and address are the machine's own.
    nodes = {name.partition(".")[2] for name in LEAVES if name.startswith("node.")}
    assert everything.NODE.keys() == nodes - {"name", "ip"}


@pytest.mark.parametrize("name", everything.KUBELET)
def test_none_of_them_has_its_default(name: str) -> None:
    setting = KUBELET_SETTINGS.fields[name]
    kubelet = spec_of({"kubelet": everything.KUBELET}).kubelet
    assert kubelet != spec_of({}).kubelet
    if not isinstance(getattr(setting, "type", None), Choice):
        assert everything.KUBELET[name] != getattr(setting, "default", None)
