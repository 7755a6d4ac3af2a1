"""What every kind of managed thing promises, whatever state the machine was in before."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.host.fake import FakeHost
from flexnode.resources.registry import make_handlers
from flexnode.resources.state import State
from unit.resources.cases import CASES, DRIFTING
from unit.resources.samples import Case, Crash, Managed, Moments

every_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def machine(managed: Managed) -> FakeHost:
    assert isinstance(managed.host, FakeHost)
    return managed.host


def changes_in(case: Case, folder: Path) -> int:
    """How many moments there are, in bringing it there, at which the process may die."""
    managed = case.manage(folder)
    machine(managed).hook = moments = Moments()
    managed.converge()
    return len(moments.seen)


def test_every_kind_has_a_case() -> None:
    kinds = {case.key.partition(":")[0] for case in CASES}
    assert kinds == set(make_handlers()) - {"owned"}  # which is never brought anywhere, only leaves


@every_case
def test_it_becomes_what_is_wanted_and_a_second_run_changes_nothing(case: Case, tmp_path: Path) -> None:
    managed = case.manage(tmp_path)
    there = managed.is_as_wanted()
    assert (managed.converge() is None) == there
    assert managed.is_as_wanted()
    assert bool(machine(managed).writes) == (not there)
    machine(managed).writes.clear()
    assert managed.converge() is None
    assert machine(managed).writes == []


@every_case
def test_looking_changes_nothing(case: Case, tmp_path: Path) -> None:
    managed = case.manage(tmp_path)
    before = machine(managed).snapshot(times=True)
    managed.is_as_wanted()
    assert machine(managed).writes == []
    assert machine(managed).snapshot(times=True) == before
    assert managed.contents.kept == []


@every_case
def test_putting_it_once_more_changes_nothing(case: Case, tmp_path: Path) -> None:
    managed = case.manage(tmp_path)
    managed.converge()
    after = machine(managed).snapshot()
    managed.handler.put(managed.host, managed.name, managed.want, managed.contents)
    assert machine(managed).snapshot() == after


@every_case
def test_undo_leaves_the_machine_as_it_was(case: Case, tmp_path: Path) -> None:
    managed = case.manage(tmp_path)
    original = machine(managed).snapshot(times=True)
    before = managed.converge()
    if before is not None:
        managed.undo(before)
    assert machine(managed).snapshot(times=True) == original
    machine(managed).writes.clear()
    if before is not None:
        managed.undo(before)
    assert machine(managed).writes == []


@every_case
def test_killed_at_any_change_it_is_finished_by_the_next_process(case: Case, tmp_path: Path) -> None:
    undisturbed = case.manage(tmp_path)
    undisturbed.converge()
    for fatal in range(changes_in(case, tmp_path)):
        managed = case.manage(tmp_path)
        kill(managed, fatal)
        managed.converge()
        assert machine(managed).snapshot() == machine(undisturbed).snapshot()


@every_case
def test_killed_at_any_change_it_can_be_taken_back(case: Case, tmp_path: Path) -> None:
    for fatal in range(changes_in(case, tmp_path)):
        managed = case.manage(tmp_path)
        original = machine(managed).snapshot(times=True)
        before = managed.find()
        kill(managed, fatal)
        managed.undo(before)
        assert machine(managed).snapshot(times=True) == original


@every_case
def test_killed_at_any_change_of_its_undo_it_is_undone_by_the_next_process(
    case: Case, tmp_path: Path
) -> None:
    fatal = 0
    while kill_undo(case, fatal, tmp_path):
        fatal += 1


@pytest.mark.parametrize("case", DRIFTING, ids=[case.name for case in DRIFTING])
def test_what_somebody_changed_is_noticed_and_repaired(case: Case, tmp_path: Path) -> None:
    managed = case.manage(tmp_path)
    managed.converge()
    as_wanted = machine(managed).snapshot()
    assert case.spoil is not None
    case.spoil(machine(managed))
    assert not managed.is_as_wanted()
    managed.converge()
    assert machine(managed).snapshot() == as_wanted


def kill(managed: Managed, fatal: int) -> None:
    """Die at one moment of bringing it there."""
    machine(managed).hook = Moments(fatal)
    with pytest.raises(Crash):
        managed.converge()
    machine(managed).hook = Moments()


def kill_undo(case: Case, fatal: int, folder: Path) -> bool:
    """Die at one moment of undoing, and undo again; False once there is no such moment any more."""
    managed = case.manage(folder)
    original = machine(managed).snapshot(times=True)
    before: State | None = managed.converge()
    if before is None:
        return False
    machine(managed).hook = Moments(fatal)
    died = False
    try:
        managed.undo(before)
    except Crash:
        died = True
        machine(managed).hook = Moments()
        managed.undo(before)
    assert machine(managed).snapshot(times=True) == original
    return died
