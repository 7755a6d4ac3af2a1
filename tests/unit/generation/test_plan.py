"""A plan tells what would happen, costs nothing, and gives no secret away."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from flexnode.generation import Generation, Plan
from flexnode.resources import Disruption
from flexnode.resources.state import Absent, File, Secret, Text
from unit.generation.samples import BOOTSTRAP_CONFIG, CERTIFICATE, TOKEN, Lab, make_node

FIRST = make_node()
NEXT = make_node(kubelet="1.35.0", containerd_config="version = 3\nnext = true\n")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "state")


def keys(plan: Plan) -> list[str]:
    return [change.key for change in plan.changes]


def test_planning_writes_nothing_anywhere(lab: Lab) -> None:
    plan = lab.activation.plan(FIRST)
    assert plan.changes
    assert lab.host.writes == []
    assert lab.fetched == []
    assert not lab.folder.exists()


def test_a_plan_comes_true(lab: Lab) -> None:
    lab.activation.activate(FIRST)
    plan = lab.activation.plan(NEXT)
    outcome = lab.activation.activate(NEXT)
    assert keys(plan) == [change.key for change in outcome.changes]
    assert plan.restarts == outcome.restarts
    assert plan.disruption is outcome.disruption
    assert (plan.current, plan.target) == (FIRST.id, NEXT.id)


def test_a_joined_node_has_nothing_to_do(lab: Lab) -> None:
    lab.activation.activate(FIRST)
    assert lab.activation.plan(FIRST) == Plan(target=FIRST.id, current=FIRST.id)


def test_a_plan_costs_what_its_dearest_change_costs(lab: Lab) -> None:
    lab.activation.activate(FIRST)
    changed = make_node(containerd_config="version = 3\nchanged = true\n")
    plan = lab.activation.plan(changed)
    assert keys(plan) == ["file:/etc/containerd/config.toml"]
    assert plan.disruption is Disruption.RESTART_CONTAINERD
    assert plan.restarts == ("containerd.service",)
    assert lab.activation.plan(NEXT).disruption is Disruption.DRAIN


def test_a_unit_that_is_started_anyway_is_not_restarted_besides(lab: Lab) -> None:
    plan = lab.activation.plan(FIRST)
    assert plan.restarts == ("systemd-journald.service",)


def test_no_secret_is_in_a_plan(lab: Lab) -> None:
    """Not before the join, and not where somebody else's secret lies in the place of ours."""
    lab.host.files.place(BOOTSTRAP_CONFIG, f"token: {TOKEN}-old\n")
    plan = lab.activation.plan(FIRST)
    (change,) = (each for each in plan.changes if each.key == f"file:{BOOTSTRAP_CONFIG}")
    assert isinstance(change.after, File)
    assert isinstance(change.after.content, Secret)
    encoded = msgspec.json.encode(plan)
    assert b"bootstrap-token" in encoded
    assert TOKEN.encode() not in encoded


def test_a_plan_survives_being_written_down(lab: Lab) -> None:
    plan = lab.activation.plan(FIRST)
    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


def test_a_spent_credential_is_no_drift_and_a_new_token_changes_nothing(lab: Lab) -> None:
    lab.activation.activate(FIRST)
    assert lab.host.files.find(CERTIFICATE) is not None
    assert lab.host.files.find(BOOTSTRAP_CONFIG) is None
    lab.secrets["bootstrap-token"] = "zzzzzz.9999999999999999"
    assert keys(lab.activation.plan(FIRST)) == []


def test_a_left_over_credential_is_drift(lab: Lab) -> None:
    lab.activation.activate(FIRST)
    lab.host.files.place(BOOTSTRAP_CONFIG, "token: back again\n")
    (change,) = lab.activation.plan(FIRST).changes
    assert (change.key, change.after) == (f"file:{BOOTSTRAP_CONFIG}", Absent())


def test_a_plan_for_leaving_names_the_files_that_stay(lab: Lab) -> None:
    lab.activation.activate(FIRST)
    lab.host.files.place("/etc/crictl.yaml", "debug: false\n")
    lab.host.files.place("/etc/containerd/config.toml", "version = 3\nmine = true\n")
    plan = lab.activation.plan(Generation())
    assert plan.kept == ("/etc/containerd/config.toml", "/etc/crictl.yaml")
    assert "file:/etc/crictl.yaml.before-flexnode" in keys(plan)
    assert "file:/etc/crictl.yaml" not in keys(plan)
    assert keys(plan)[:2] == ["owned:pods", "owned:node"]


def test_a_file_that_changed_by_itself_is_drift(lab: Lab) -> None:
    lab.activation.activate(FIRST)
    lab.host.files.place("/etc/crictl.yaml", "debug: false\n")
    lab.host.units.stop("kubelet.service")
    lab.host.kernel.set_sysctl("net.ipv4.ip_forward", "0")
    plan = lab.activation.plan(FIRST)
    assert keys(plan) == ["sysctl:net.ipv4.ip_forward", "file:/etc/crictl.yaml", "unit:kubelet.service"]
    (file,) = (each for each in plan.changes if each.key == "file:/etc/crictl.yaml")
    assert file.after == File(content=Text(text="runtime-endpoint: unix:///run/containerd/containerd.sock\n"))
