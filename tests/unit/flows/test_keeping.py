"""The current generation is looked after as it was confirmed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from flexnode.clock import FakeClock
from flexnode.digests import Digests
from flexnode.errors import GenerationError
from flexnode.flows.keeping import examine, find_differences, put_back
from flexnode.flows.node_api import find_current
from flexnode.flows.workplace import Workplace
from flexnode.generation import Result
from unit.generation.samples import Lab, make_node, sha256

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


def test_looking_trusts_what_is_remembered_and_examining_does_not(
    workplace: Workplace, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"1")
    later = FakeClock(datetime.now(UTC) + timedelta(hours=1))
    digests = Digests(clock=later)
    digests.of_file(path)
    rotten = {name: msgspec.structs.replace(each, sha256="2") for name, each in digests.take_stock().items()}
    remembering = replace(workplace, digests=Digests(clock=later, known=rotten))
    find_differences(remembering)
    assert remembering.digests.of_file(path) == "2"
    examine(remembering)
    assert remembering.digests.of_file(path) == sha256(b"1")


def test_where_there_is_no_generation_it_says_what_to_do(tmp_path: Path) -> None:
    lab = Lab(folder=tmp_path / "state")
    workplace = Workplace(host=lab.host, clock=lab.clock, directory=lab.directory)
    assert find_current(lab.directory) is None
    with pytest.raises(GenerationError) as caught:
        find_differences(workplace)
    assert (caught.value.code, caught.value.hint) == ("generation/no-current", "run bootstrap")
