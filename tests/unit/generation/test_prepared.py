"""A prepared machine joins for the first time, and no node is taken out of its cluster by a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.errors import FlexError
from flexnode.generation import Desired, Generation, Result
from flexnode.generation.outcome import Outcome
from flexnode.generation.recover import MAX_ATTEMPTS
from unit.generation.samples import Crash, Lab, make_node

NODE = make_node()
PREPARED = NODE.baked()
OTHER = make_node(kubelet="1.35.0")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(folder=tmp_path / "state")


def activate(lab: Lab, target: Generation) -> Outcome:
    return lab.activation.activate(target, operation="test", seconds=300)


def die(lab: Lab, target: Generation, at: str) -> None:
    def pull(moment: str) -> None:
        if moment.startswith(f"before {at}"):
            raise Crash(moment)

    lab.host.hook = pull
    with pytest.raises(Crash):
        activate(lab, target)
    lab.host.hook = lambda _moment: None


def test_the_join_of_a_prepared_machine_is_never_rolled_back(lab: Lab) -> None:
    activate(lab, PREPARED)
    lab.verify.failing.add("1.34.0")
    outcome = activate(lab, NODE)
    assert (outcome.result, outcome.current, outcome.joined) == (Result.UNCONFIRMED, PREPARED.id, False)
    assert outcome.failure is not None
    assert lab.memory()["rejected"] == []
    assert lab.host.units.is_active("kubelet.service")
    lab.verify.failing.clear()
    outcome = activate(lab, NODE)
    assert (outcome.result, outcome.joined) == (Result.CONFIRMED, True)


def test_however_often_and_long_it_is_cut_off(lab: Lab) -> None:
    """Neither attempts nor time are counted against it: there is nowhere else to go."""
    activate(lab, PREPARED)
    for _ in range(MAX_ATTEMPTS + 1):
        die(lab, NODE, "start kubelet")
        lab.clock.sleep(1000)
    outcome = lab.activation.recover()
    assert outcome is not None
    assert (outcome.result, outcome.current) == (Result.CONFIRMED, NODE.id)


def test_a_change_of_what_is_prepared_is_rolled_back_as_any_other(lab: Lab) -> None:
    activate(lab, PREPARED)
    lab.verify.failing.add("1.35.0")
    outcome = activate(lab, OTHER.baked())
    assert (outcome.result, outcome.current) == (Result.ROLLED_BACK, PREPARED.id)
    assert lab.memory()["rejected"] == [OTHER.baked().id]


def test_a_node_is_not_made_a_prepared_machine(lab: Lab) -> None:
    """Its Node would stay in the cluster, and its pods with it."""
    activate(lab, NODE)
    before, memory = lab.host.snapshot(times=True), lab.memory()
    with pytest.raises(FlexError) as caught:
        activate(lab, PREPARED)
    assert caught.value.code == "generation/would-leave"
    assert "unbootstrap" in caught.value.hint
    assert lab.host.snapshot(times=True) == before
    assert lab.memory() == memory


def test_nor_is_one_that_has_begun_to_join(lab: Lab) -> None:
    die(lab, NODE, "start kubelet")
    with pytest.raises(FlexError, match="about to be one"):
        activate(lab, PREPARED)
    activate(lab, NODE)
    assert lab.memory()["current"] == NODE.id


def test_going_back_does_not_take_a_node_out_of_its_cluster(lab: Lab) -> None:
    activate(lab, PREPARED)
    activate(lab, NODE)
    with pytest.raises(FlexError) as caught:
        lab.activation.rollback()
    assert caught.value.code == "generation/would-leave"
    assert lab.memory()["current"] == NODE.id
    activate(lab, OTHER)
    assert lab.activation.rollback().current == NODE.id


def test_what_is_prepared_can_go_back_to_what_was_prepared_before(lab: Lab) -> None:
    activate(lab, PREPARED)
    activate(lab, OTHER.baked())
    outcome = lab.activation.rollback()
    assert (outcome.result, outcome.current, outcome.joined) == (Result.CONFIRMED, PREPARED.id, False)


def test_a_join_that_nobody_can_read_any_more_is_left_to_a_person(lab: Lab) -> None:
    """Recovery must not undo it for want of knowing better: bootstrap and unbootstrap look at everything."""
    activate(lab, PREPARED)
    die(lab, NODE, "start kubelet")
    lab.directory.journal.write_bytes(b"damaged\n")
    with pytest.raises(FlexError) as caught:
        lab.activation.recover()
    assert caught.value.code == "generation/lost"
    assert activate(lab, NODE).result is Result.CONFIRMED


def test_a_join_whose_description_is_lost_is_left_to_a_person(lab: Lab) -> None:
    activate(lab, PREPARED)
    die(lab, NODE, "start kubelet")
    for path in lab.directory.generations.glob(f"{NODE.id}*"):
        path.unlink()
    with pytest.raises(FlexError) as caught:
        lab.activation.recover()
    assert caught.value.code == "generation/lost"
    assert activate(lab, NODE).result is Result.CONFIRMED


@pytest.mark.parametrize("joins", [False, True])
def test_leaving_undoes_what_was_prepared(lab: Lab, joins: bool) -> None:
    before = lab.host.snapshot()
    activate(lab, PREPARED)
    if joins:
        activate(lab, NODE)
    assert activate(lab, Generation()).result is Result.LEFT
    assert lab.host.snapshot() == before
    assert lab.left_nodes == (["node-1"] if joins else [])
    assert lab.memory()["desired"] is Desired.LEFT


def test_a_machine_that_left_can_be_prepared_again(lab: Lab) -> None:
    activate(lab, NODE)
    activate(lab, Generation())
    assert activate(lab, PREPARED).result is Result.CONFIRMED
    assert lab.memory()["desired"] is Desired.JOINED
