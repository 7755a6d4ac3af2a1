"""The configuration that a machine of the lab joins with is one that the product accepts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flexlab.node_agent import compose_config
from flexlab.node_agent.config import OVERLAY
from flexlab.pki import create_authority
from flexnode.config import load_config

CA = create_authority("test").certificate.decode()
PRINTED = {
    "apiVersion": "flexnode.io/v1",
    "kind": "NodeConfig",
    "cluster": {"server": "https://10.200.0.10:6443", "ca": CA},
    "versions": {"kubernetes": "1.99"},
    "auth": {"bootstrapToken": "abcdef.0123456789abcdef"},
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.touch(0o600)
    path.write_text(json.dumps(compose_config(PRINTED, kubernetes="1.98.7", ca=CA)))
    return path


def test_a_node_can_join_with_it(path: Path) -> None:
    resolved = load_config(path, directory=path.parent, image=path.parent / "none")
    spec = resolved.spec
    assert spec.cluster.server == "https://10.200.0.10:6443"
    assert spec.cluster.dns_service_ip == "10.96.0.10"
    assert spec.credentials.bootstrap_token is not None
    assert spec.machine.versions.kubernetes == "1.98.7"
    assert spec.artifacts.overlays == (OVERLAY,)
    (registry,) = spec.machine.runtime.registries
    assert (registry.registry, registry.ca.strip()) == ("registry.lab.internal:5000", CA.strip())


def test_what_the_cluster_said_is_kept(path: Path) -> None:
    document = json.loads(path.read_text())
    assert {key: document[key] for key in ("apiVersion", "kind", "auth")} == {
        key: PRINTED[key] for key in ("apiVersion", "kind", "auth")
    }
