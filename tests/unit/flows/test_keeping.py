"""The current generation is looked after as it was confirmed."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.errors import GenerationError
from flexnode.flows.keeping import find_current, find_differences, put_back
from flexnode.flows.workplace import Workplace
from flexnode.generation import Result
from unit.generation.samples import Lab, make_node

UNIT = "/etc/systemd/system/kubelet.service"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab(folder=tmp_path / "state")
    lab.activation.activate(make_node(), operation="bootstrap", inputs="i")
    return lab


@pytest.fixture
def workplace(lab: Lab) -> Workplace:
    return Workplace(host=lab.host, clock=lab.clock, directory=lab.directory)


def test_a_node_as_it_should_be_is_not_touched(lab: Lab, workplace: Workplace) -> None:
    lab.host.writes.clear()
    before = lab.directory.load_state().value
    assert find_differences(workplace).changes == ()
    assert put_back(workplace, seconds=60).result is Result.UNCHANGED
    assert lab.host.writes == []
    assert lab.directory.load_state().value == before


def test_what_somebody_changed_is_found_and_nothing_is_written(lab: Lab, workplace: Workplace) -> None:
    lab.host.files.place(UNIT, "mine\n")
    lab.host.kernel.sysctls["net.ipv4.ip_forward"] = "0"
    lab.host.writes.clear()
    plan = find_differences(workplace)
    assert {change.key for change in plan.changes} == {f"file:{UNIT}", "sysctl:net.ipv4.ip_forward"}
    assert plan.target == make_node().id
    assert lab.host.writes == []


def test_where_there_is_no_generation_it_says_what_to_do(tmp_path: Path) -> None:
    lab = Lab(folder=tmp_path / "state")
    workplace = Workplace(host=lab.host, clock=lab.clock, directory=lab.directory)
    assert find_current(lab.directory) is None
    with pytest.raises(GenerationError) as caught:
        find_differences(workplace)
    assert (caught.value.code, caught.value.hint) == ("generation/no-current", "run bootstrap")
