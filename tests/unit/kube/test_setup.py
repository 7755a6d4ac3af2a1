"""What `cluster setup` gives to whom: every right that it grants stands in one file, to be read by people.

After a wanted change write it anew with

    UPDATE_GOLDEN=1 .venv/bin/pytest tests/unit/kube/test_setup.py
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from flexnode.clock import FakeClock
from flexnode.errors import KubeError
from flexnode.flows.cluster import set_up_cluster
from flexnode.kube.apply import Applied, apply, path_of
from flexnode.kube.approval import APPROVER
from flexnode.kube.fake import FakeCluster
from flexnode.kube.manifests import ALL_TOKENS_GROUP, NODES_GROUP, compose_setup
from flexnode.kube.request import Content, Request
from flexnode.kube.tokens import BOOTSTRAP_GROUP
from flexnode.progress import Silent

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "kube" / "setup.yaml"
RBAC = "/apis/rbac.authorization.k8s.io/v1"

SHIPPED = {
    "system:node-bootstrapper",
    "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
    "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
}
"""Roles that every cluster has."""


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


def test_the_objects_are_those_that_were_reviewed() -> None:
    text = "---\n".join(yaml.safe_dump(each, sort_keys=False, width=110) for each in compose_setup())
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def granted() -> Iterator[tuple[str, dict[str, Any]]]:
    """Group and rule, for every rule of our own roles."""
    objects = compose_setup()
    roles = {(each["kind"], each["metadata"]["name"]): each["rules"] for each in objects if "rules" in each}
    for binding in objects:
        if "roleRef" not in binding:
            continue
        reference = binding["roleRef"]
        if reference["name"] in SHIPPED:
            continue
        for subject in binding["subjects"]:
            for rule in roles[reference["kind"], reference["name"]]:
                yield subject["name"], rule


def test_a_machine_that_joins_may_change_nothing_of_ours() -> None:
    rules = [rule for group, rule in granted() if group == BOOTSTRAP_GROUP]
    assert rules
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get"}


def test_the_one_right_to_delete_is_for_nodes_and_a_policy_limits_it() -> None:
    deleting = [(group, rule) for group, rule in granted() if "delete" in rule["verbs"]]
    assert [(group, rule["resources"]) for group, rule in deleting] == [(NODES_GROUP, ["nodes"])]
    kinds = [each["kind"] for each in compose_setup()]
    assert kinds.index("ValidatingAdmissionPolicyBinding") < kinds.index("ClusterRole")


def test_nothing_is_granted_to_everybody_and_nothing_by_a_wildcard() -> None:
    for group, rule in granted():
        assert group in (BOOTSTRAP_GROUP, NODES_GROUP, ALL_TOKENS_GROUP)
        if group == ALL_TOKENS_GROUP:
            assert (rule["verbs"], rule["resourceNames"]) == (["get"], [APPROVER])
        assert "*" not in (*rule["verbs"], *rule["resources"], *rule["apiGroups"])


def test_secrets_are_not_readable_and_config_maps_only_by_name() -> None:
    for _, rule in granted():
        assert "secrets" not in rule["resources"]
        if "configmaps" in rule["resources"]:
            assert rule["resourceNames"]


class TestApply:
    def test_a_cluster_is_set_up_once_and_a_second_run_changes_nothing(self, cluster: FakeCluster) -> None:
        first = set_up_cluster(cluster, clock=FakeClock(), progress=Silent())
        assert {piece.result for piece in first} == {Applied.CREATED}
        assert len(first) == len(compose_setup())
        second = set_up_cluster(cluster, clock=FakeClock(), progress=Silent())
        assert {piece.result for piece in second} == {Applied.UNCHANGED}

    def test_what_somebody_changed_is_put_right_and_what_they_added_stays(self, cluster: FakeCluster) -> None:
        role = next(each for each in compose_setup() if each["kind"] == "ClusterRole")
        apply(cluster, role)
        path = path_of(role)
        meddled = cluster.get(path) or {}
        meddled["rules"] = []
        meddled["metadata"]["annotations"] = {"example.com/owner": "somebody"}
        cluster.put(path, meddled)
        assert apply(cluster, role) is Applied.CHANGED
        after = cluster.get(path) or {}
        assert after["rules"] == role["rules"]
        assert after["metadata"]["annotations"] == {"example.com/owner": "somebody"}

    def test_it_is_a_server_side_apply_under_our_name(self, cluster: FakeCluster) -> None:
        apply(cluster, compose_setup()[0])
        request = cluster.requests[-1]
        assert (request.method, request.content) == ("PATCH", Content.APPLY)
        assert dict(request.query) == {"fieldManager": "aks-flex-node", "force": "true"}

    def test_objects_lie_where_the_api_has_them(self) -> None:
        paths = {path_of(each) for each in compose_setup()}
        assert f"{RBAC}/clusterroles/flexnode.io%3Aleave" in paths
        assert f"{RBAC}/namespaces/kube-system/roles/flexnode.io%3Asee-cluster-facts" in paths
        assert len(paths) == len(compose_setup())

    def test_a_server_that_stumbles_is_asked_again(self, cluster: FakeCluster) -> None:
        stumbles = 0

        def before(request: Request) -> None:
            nonlocal stumbles
            if request.method == "PATCH" and stumbles < 2:
                stumbles += 1
                raise cluster.refuse(503, "starting")

        cluster.before = before
        pieces = set_up_cluster(cluster, clock=FakeClock(), progress=Silent())
        assert stumbles == 2
        assert {piece.result for piece in pieces} == {Applied.CREATED}

    def test_somebody_without_the_right_to_grant_is_told_at_once(self, cluster: FakeCluster) -> None:
        def before(_request: Request) -> None:
            raise cluster.refuse(403, "you may not grant this")

        cluster.before = before
        with pytest.raises(KubeError) as caught:
            set_up_cluster(cluster, clock=FakeClock(), progress=Silent())
        assert caught.value.code == "kube/forbidden"
        assert len(cluster.requests) == 1
