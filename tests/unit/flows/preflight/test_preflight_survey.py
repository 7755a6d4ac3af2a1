"""From a configuration to what checks look at, whatever of it cannot be found out."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.clock import FakeClock
from flexnode.config import Resolved, load_config
from flexnode.flows.findings import Findings, remember
from flexnode.flows.preflight import Level, preflight
from flexnode.flows.preflight.survey import Machine, survey
from flexnode.generation.directory import StateDirectory
from flexnode.model.spec import ServingCertificates
from unit.flows.preflight.samples import FACTS, check_named, stock

NOBODY = "https://127.0.0.1:9"


def machine(root: Path) -> Machine:
    return Machine(
        host=stock(), facts=FACTS, clock=FakeClock(), uid=0, directory=StateDirectory(root=root / "state")
    )


def configured(root: Path, *sets: str) -> Resolved:
    return load_config(environ={}, sets=sets, directory=root, image=root / "none", complete=False)


def test_before_there_is_a_configuration_the_machine_itself_can_be_checked(tmp_path: Path) -> None:
    with survey(machine(tmp_path), configured(tmp_path)) as situation:
        assert situation.cluster is None
        assert situation.parts is not None
        report = preflight(situation, checks=[check_named(name) for name in ("memory", "catalog", "ca")])
    assert [finding.level for finding in report.findings] == [Level.OK, Level.OK, Level.SKIPPED]


def test_a_cluster_that_cannot_be_asked_fills_nothing_and_stops_nothing(tmp_path: Path) -> None:
    """The other checks would otherwise wait for the cluster to come up."""
    sets = (f"cluster.server={NOBODY}", "cluster.caHashes=" + f'["sha256:{"0" * 64}"]')
    with survey(machine(tmp_path), configured(tmp_path, *sets)) as situation:
        assert situation.spec.cluster.dns_service_ip is None
        report = preflight(situation, checks=[check_named("api-server"), check_named("memory")])
    (unreached,) = report.at(Level.ERROR)
    assert unreached.code == "kube/unreachable"
    assert report.transient


def test_what_the_node_was_told_when_it_joined_is_not_asked_again(tmp_path: Path) -> None:
    """A joined node may read less than a machine that joins: it would forget its own network."""
    surveyed = machine(tmp_path)
    told = {"cluster.serviceCIDR": "10.96.0.0/12", "versions.kubernetes": "1.34"}
    remember(surveyed.directory, Findings(server=NOBODY, ca="PEM", settings=told, approves_serving=True))
    with survey(surveyed, configured(tmp_path, f"cluster.server={NOBODY}")) as situation:
        assert situation.spec.cluster.service_cidr == "10.96.0.0/12"
        assert situation.spec.kubelet.serving_certificates is ServingCertificates.ON
        assert situation.parts is not None
        assert situation.parts.kubernetes.startswith("1.34.")


def test_a_version_that_the_catalog_does_not_know_is_a_finding(tmp_path: Path) -> None:
    with survey(machine(tmp_path), configured(tmp_path, "versions.kubernetes=1.99")) as situation:
        report = preflight(situation, checks=[check_named("catalog"), check_named("artifacts")])
    assert [finding.level for finding in report.findings] == [Level.ERROR, Level.SKIPPED]


def test_files_are_looked_for_where_the_configuration_says(tmp_path: Path) -> None:
    empty = tmp_path / "mirror"
    empty.mkdir()
    with survey(machine(tmp_path), configured(tmp_path, f'artifacts.sources=["{empty}"]')) as situation:
        assert situation.search is not None
        found = situation.search()
    needed = {sought.artifact.component for sought in found if not sought.optional}
    assert {"kubelet", "kubectl", "containerd", "runc", "cni-plugins"} <= needed
    assert "kubeadm" not in needed, "nothing on a node uses it"
    assert {answer.source for sought in found for answer in sought.answers} == {str(empty)}
    assert not any(sought.found for sought in found)


@pytest.mark.parametrize("value", ["0", "1"])
def test_what_the_user_sets_is_what_the_node_needs(tmp_path: Path, value: str) -> None:
    sets = ('host.sysctls={"net.ipv4.ip_forward":"' + value + '"}',)
    with survey(machine(tmp_path), configured(tmp_path, *sets)) as situation:
        assert situation.sysctls["net.ipv4.ip_forward"] == value
        assert situation.sysctls["vm.overcommit_memory"] == "1"


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    surveyed = machine(tmp_path)
    with survey(surveyed, configured(tmp_path, f"cluster.server={NOBODY}")) as situation:
        preflight(situation, ignore=["artifacts", "artifact-sources"], time_limit=20.0)
    assert surveyed.host.writes == []  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []
