"""A service that hangs is restarted, one that just started is given time, and none is restarted forever."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flexnode.agent.health import (
    INTERVAL,
    RESTARTS,
    SUSPICION,
    WINDOW,
    YOUTH,
    Record,
    Records,
    Remedy,
    Vitals,
    look,
    note_restart,
    treat,
)
from flexnode.components.layout import CONTAINERD, KUBELET
from flexnode.host.door import Enablement, UnitInfo
from flexnode.host.fake import FakeHost

RUNS = UnitInfo(enablement=Enablement.ENABLED, active=True, invocation="a")
STOPPED = replace(RUNS, active=False, invocation="")
FAILED = replace(STOPPED, failed=True)


class Ward:
    """Looks, one after the other, at two units."""

    def __init__(self) -> None:
        self.now = 0.0
        self.records: Records = {}
        self.units = {CONTAINERD: RUNS, KUBELET: RUNS}
        self.faults: dict[str, str] = {}
        self.look()
        self.now += YOUTH

    def look(self) -> Remedy:
        vitals = Vitals(units=self.units, faults=self.faults)
        self.records, remedy = treat(vitals, self.records, self.now)
        if remedy.restart:
            self.records = note_restart(self.records, remedy.restart, self.now)
        self.now += remedy.again
        return remedy

    def looks(self, number: int) -> list[str]:
        return [self.look().restart for _ in range(number)]


@pytest.fixture
def ward() -> Ward:
    return Ward()


def test_what_is_well_is_left_alone_and_looked_at_once_a_minute(ward: Ward) -> None:
    remedy = ward.look()
    assert remedy == Remedy(again=INTERVAL)


def test_one_bad_answer_is_asked_again_soon_and_two_are_believed(ward: Ward) -> None:
    ward.faults = {CONTAINERD: "no answer within 10 s"}
    first, second = ward.look(), ward.look()
    assert (first.restart, first.again, first.faults) == ("", SUSPICION, {})
    assert (second.restart, second.why) == (CONTAINERD, "no answer within 10 s")


def test_a_good_answer_in_between_clears_the_suspicion(ward: Ward) -> None:
    ward.faults = {CONTAINERD: "slow"}
    ward.look()
    ward.faults = {}
    ward.look()
    ward.faults = {CONTAINERD: "slow"}
    assert ward.look().restart == ""


def test_restarts_are_capped_and_what_they_do_not_cure_is_given_up(ward: Ward) -> None:
    ward.faults = {CONTAINERD: "hangs"}
    assert ward.looks(15).count(CONTAINERD) == RESTARTS
    remedy = ward.look()
    assert remedy.given_up == (CONTAINERD,)
    assert remedy.again == INTERVAL
    ward.now += WINDOW
    assert ward.look().restart == CONTAINERD


def test_a_unit_that_was_just_started_is_not_expected_to_answer(ward: Ward) -> None:
    ward.units = {**ward.units, KUBELET: replace(RUNS, invocation="b")}
    ward.faults = {KUBELET: "connection refused"}
    assert ward.look() == Remedy(again=INTERVAL)


def test_after_its_youth_it_is(ward: Ward) -> None:
    ward.units = {**ward.units, KUBELET: replace(RUNS, invocation="b")}
    ward.faults = {KUBELET: "connection refused"}
    ward.look()
    ward.now += YOUTH
    assert ward.looks(2) == ["", KUBELET]


def test_kubelet_is_not_restarted_for_what_its_runtime_does(ward: Ward) -> None:
    ward.faults = {CONTAINERD: "hangs", KUBELET: "the runtime does not answer"}
    assert set(ward.looks(20)) == {"", CONTAINERD}


def test_a_unit_that_failed_is_started_again(ward: Ward) -> None:
    ward.units = {**ward.units, KUBELET: FAILED}
    assert ward.looks(2) == ["", KUBELET]


@pytest.mark.parametrize(
    "info",
    [
        STOPPED,
        replace(STOPPED, enablement=Enablement.MASKED),
        replace(FAILED, enablement=Enablement.MASKED),
        replace(STOPPED, enablement=Enablement.ABSENT),
    ],
)
def test_a_unit_that_somebody_stopped_is_not_ill(ward: Ward, info: UnitInfo) -> None:
    ward.units = {**ward.units, KUBELET: info}
    ward.look()
    remedy = ward.look()
    assert (remedy.restart, remedy.stopped, remedy.given_up) == ("", (KUBELET,), ())
    assert KUBELET in remedy.faults


def test_a_unit_that_ends_again_and_again_is_told_though_it_runs_whenever_one_looks(ward: Ward) -> None:
    for number in range(1, 6):
        ward.units = {**ward.units, KUBELET: replace(RUNS, invocation=f"x{number}", restarts=number)}
        remedy = ward.look()
    assert "5 times in 20 minutes" in remedy.faults[KUBELET]
    ward.now += WINDOW
    assert ward.look().faults == {}


def test_restarts_from_before_the_agent_are_not_held_against_a_unit() -> None:
    units = {CONTAINERD: RUNS, KUBELET: replace(RUNS, restarts=40)}
    records, remedy = treat(Vitals(units=units), {}, 0.0)
    assert remedy.faults == {}
    assert records[KUBELET].crashes == ()


def test_where_systemd_does_not_run_nothing_is_judged() -> None:
    units = dict.fromkeys((CONTAINERD, KUBELET), UnitInfo(enablement=Enablement.ENABLED))
    records, remedy = treat(Vitals(units=units), {KUBELET: Record(strikes=5)}, 0.0)
    assert remedy == Remedy()
    assert records[KUBELET] == Record()


def test_one_look_asks_the_runtime_and_kubelet_themselves() -> None:
    host = FakeHost()
    for unit in (CONTAINERD, KUBELET):
        host.units.place(unit, active=True)
    assert look(host, lambda: "").faults == {}
    assert look(host, lambda: "it says so").faults == {KUBELET: "it says so"}
    host.runtime.up = False
    assert look(host, lambda: "a consequence").faults == {CONTAINERD: "the container runtime does not answer"}


def test_what_does_not_run_is_not_asked() -> None:
    host = FakeHost()
    asked: list[str] = []
    vitals = look(host, lambda: asked.append("kubelet") or "fault")  # type: ignore[func-returns-value]
    assert vitals.faults == {}
    assert asked == []
