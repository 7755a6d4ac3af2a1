"""kubelet registers the node that its user described, answers nobody it should not, and joins once."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from flexnode.components.cluster_ca import compose_cluster_ca
from flexnode.components.dns import resolv_conf
from flexnode.components.identity import node_labels, node_name
from flexnode.components.join_token import compose_join_token
from flexnode.components.joining import NodeInputs
from flexnode.components.kubelet_service import render_node_flags
from flexnode.components.layout import KUBELET_CERTIFICATE
from flexnode.components.node import compose_node
from flexnode.errors import ConfigError
from flexnode.model.credentials import ArcIdentity, Credentials
from flexnode.model.machine import CredentialProvider, HostSpec, MachineSpec
from flexnode.model.spec import IdentitySpec, KubeletSpec, ServingCertificates
from flexnode.resources import Disruption
from flexnode.resources.state import File, Secret
from unit.components.samples import (
    CA,
    DEFAULT,
    FACTS,
    FULL_SPEC,
    PROXY_WITH_PASSWORD,
    SPEC,
    TOKEN,
    text_of,
    texts,
    with_machine,
    with_spec,
)

CONFIG = "/etc/kubernetes/kubelet/config.json"
NODE = "/etc/systemd/system/kubelet.service.d/10-node.conf"
JOIN = "/etc/systemd/system/kubelet.service.d/20-join.conf"
BOOTSTRAP = "/etc/kubernetes/bootstrap-kubelet.conf"


def config(inputs: NodeInputs) -> Any:
    return json.loads(text_of(inputs, CONFIG))


def flags(inputs: NodeInputs) -> list[str]:
    """As systemd gives them to kubelet: the drop-in's one variable, unquoted and split."""
    _, line = render_node_flags(inputs).splitlines()
    (value,) = shlex.split(line.removeprefix("Environment="))
    return value.removeprefix("KUBELET_NODE_FLAGS=").replace("%%", "%").split()


def with_kubelet(**settings: Any) -> NodeInputs:
    return with_spec(replace(SPEC, kubelet=KubeletSpec(**settings)))


def with_identity(**settings: Any) -> NodeInputs:
    return with_spec(replace(SPEC, identity=IdentitySpec(**settings)))


def with_credentials(**settings: Any) -> NodeInputs:
    return with_spec(replace(SPEC, credentials=Credentials(**settings)))


def test_kubelet_answers_only_whom_the_cluster_lets() -> None:
    found = config(DEFAULT)
    assert found["authentication"]["anonymous"] == {"enabled": False}
    assert found["authentication"]["webhook"] == {"enabled": True}
    assert found["authentication"]["x509"] == {"clientCAFile": "/etc/kubernetes/pki/ca.crt"}
    assert found["authorization"] == {"mode": "Webhook"}
    assert found["readOnlyPort"] == 0
    assert found["healthzBindAddress"] == "127.0.0.1"
    assert found["rotateCertificates"] is True


def test_kubelet_runs_pods_as_containerd_does() -> None:
    """Two cgroup drivers on one machine make pods that cannot start."""
    assert config(DEFAULT)["cgroupDriver"] == "systemd"
    assert config(DEFAULT)["containerRuntimeEndpoint"] == "unix:///run/containerd/containerd.sock"


@pytest.mark.parametrize(
    ("setting", "asked"),
    [
        (ServingCertificates.ON, True),
        (ServingCertificates.OFF, False),
        (ServingCertificates.AUTO, False),
    ],
)
def test_serving_certificates_are_asked_for_only_where_somebody_approves_them(
    setting: ServingCertificates, asked: bool
) -> None:
    assert config(with_kubelet(serving_certificates=setting))["serverTLSBootstrap"] is asked


def test_a_threshold_of_the_users_own_keeps_the_other_thresholds() -> None:
    """kubelet takes a list without nodefs for the wish that a full disk evicts nobody."""
    found = config(with_kubelet(eviction_hard={"memory.available": "1Gi"}))["evictionHard"]
    assert found["memory.available"] == "1Gi"
    assert found["nodefs.available"] == "10%"
    assert found["nodefs.inodesFree"] == "5%"


def test_settings_that_nobody_made_are_kubelets_own() -> None:
    left_out = {"podPidsLimit", "maxParallelImagePulls", "systemReserved", "featureGates", "providerID"}
    assert not left_out & config(DEFAULT).keys()


def test_swap_that_the_user_keeps_does_not_stop_kubelet() -> None:
    keeps = with_machine(MachineSpec(host=HostSpec(manage_swap=False)))
    assert config(DEFAULT)["failSwapOn"] is True
    assert config(keeps)["failSwapOn"] is False


def test_pods_ask_the_name_servers_behind_the_machines_own() -> None:
    """An address of the machine itself means the pod, in a pod: cluster DNS would ask itself in circles."""
    assert resolv_conf(FACTS) == "/run/systemd/resolve/resolv.conf"
    assert resolv_conf(replace(FACTS, resolved=False)) == "/etc/resolv.conf"
    assert config(DEFAULT)["resolvConf"] == "/run/systemd/resolve/resolv.conf"


def test_a_cluster_without_a_known_name_server_gets_none_made_up() -> None:
    unknown = with_spec(replace(SPEC, cluster=replace(SPEC.cluster, dns_service_ip=None)))
    assert "clusterDNS" not in config(unknown)


# Identity


def test_a_node_is_called_as_it_is_configured_or_as_its_machine() -> None:
    assert node_name(with_identity(name="edge-7")) == "edge-7"
    assert node_name(DEFAULT) == "node-1"
    assert flags(DEFAULT) == ["--hostname-override=node-1"]


def test_a_machine_without_a_name_is_refused_before_it_registers_as_anything() -> None:
    with pytest.raises(ConfigError) as caught:
        compose_node(replace(DEFAULT, facts=replace(FACTS, hostname="")))
    assert caught.value.code == "config/no-node-name"


def test_flags_stand_for_what_has_no_field() -> None:
    assert flags(with_spec(FULL_SPEC)) == [
        "--hostname-override=edge-7",
        "--node-ip=192.0.2.7",
        "--node-labels=disk=ssd,example.com/rack=7,topology.kubernetes.io/region=westeurope,"
        "topology.kubernetes.io/zone=hall-2",
        "--image-credential-provider-config=/etc/kubernetes/kubelet/credential-providers.json",
        "--image-credential-provider-bin-dir=/etc/kubernetes/kubelet/credential-providers",
    ]


def test_a_place_that_is_written_as_a_label_wins() -> None:
    labels = {"topology.kubernetes.io/zone": "label"}
    assert node_labels(with_identity(zone="setting", labels=labels)) == labels


def test_the_order_of_labels_does_not_restart_kubelet() -> None:
    one = with_identity(labels={"a": "1", "b": "2"})
    other = with_identity(labels={"b": "2", "a": "1"})
    assert compose_node(one).id == compose_node(other).id


# Joining


def test_the_token_is_in_a_file_for_root_alone_until_kubelet_has_a_certificate() -> None:
    resource = compose_node(DEFAULT).find(f"file:{BOOTSTRAP}")
    assert resource is not None
    assert isinstance(resource.want, File)
    assert isinstance(resource.want.content, Secret)
    assert resource.want.mode == 0o600
    assert resource.want.content.names == ("bootstrap-token",)
    assert resource.until == KUBELET_CERTIFICATE


def test_no_credential_is_in_a_generation() -> None:
    """It is kept on disk, printed by plan, and put into support bundles."""
    stored = msgspec.json.encode(compose_node(with_spec(FULL_SPEC))).decode()
    for credential in (TOKEN, TOKEN.partition(".")[2], PROXY_WITH_PASSWORD, "pa%24%24word"):
        assert credential not in stored


def test_the_api_server_is_verified_with_the_clusters_authority() -> None:
    cluster = json.loads(text_of(DEFAULT, BOOTSTRAP))["clusters"][0]["cluster"]
    assert cluster == {
        "server": "https://192.0.2.10:6443",
        "certificate-authority": "/etc/kubernetes/pki/ca.crt",
    }
    assert text_of(DEFAULT, "/etc/kubernetes/pki/ca.crt") == CA


def test_a_token_that_was_removed_after_the_join_restarts_nothing() -> None:
    before, after = texts(compose_node(DEFAULT)), texts(compose_node(with_credentials()))
    assert before.pop(BOOTSTRAP)
    assert before == after


def test_a_node_that_joins_through_azure_looks_for_no_token() -> None:
    assert compose_join_token(with_credentials(azure=ArcIdentity())) == ()
    assert JOIN not in texts(compose_node(with_credentials(azure=ArcIdentity())))


@pytest.mark.parametrize(
    ("setting", "code"), [("ca", "config/no-cluster-ca"), ("server", "config/no-cluster-server")]
)
def test_a_cluster_that_cannot_be_verified_or_found_is_not_joined(setting: str, code: str) -> None:
    inputs = with_spec(replace(SPEC, cluster=replace(SPEC.cluster, **{setting: ""})))
    with pytest.raises(ConfigError) as caught:
        compose_node(inputs)
    assert caught.value.code == code
    assert caught.value.hint


def test_a_new_authority_of_the_cluster_reaches_kubelet() -> None:
    (_, file) = compose_cluster_ca(DEFAULT)
    assert file.restarts == ("kubelet.service",)


# Credential providers


def test_a_provider_is_found_under_its_name_wherever_its_program_lies() -> None:
    provider = CredentialProvider(
        name="login", binary="/opt/vendor/bin/login-v2", match_images=("*.example",), env={"B": "2", "A": "1"}
    )
    inputs = with_kubelet(credential_providers=(provider,))
    generation = compose_node(inputs)
    link = generation.find("link:/etc/kubernetes/kubelet/credential-providers/login")
    assert link is not None
    assert link.want.target == "/opt/vendor/bin/login-v2"  # type: ignore[union-attr]
    assert link.disruption is Disruption.RESTART_KUBELET
    (written,) = json.loads(text_of(inputs, "/etc/kubernetes/kubelet/credential-providers.json"))["providers"]
    assert written["name"] == "login"
    assert written["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]


# Shutdown


def test_the_machine_waits_as_long_as_kubelet_needs() -> None:
    """It is the file that kubelet writes itself; as the product's own it leaves with the node."""
    path = "/etc/systemd/logind.conf.d/99-kubelet.conf"
    assert text_of(with_kubelet(shutdown_grace_period="1m30s"), path) == (
        "# Kubelet logind override\n[Login]\nInhibitDelayMaxSec=90\n"
    )
    assert path not in texts(compose_node(with_kubelet(shutdown_grace_period="0s")))
