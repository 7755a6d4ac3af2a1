"""Where the time of a join goes, read from the records that it left."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from flexlab.bench.steps import (
    CHECKS,
    START,
    Step,
    compose_rows,
    cut,
    find_begin,
    find_gaps,
    parse_steps,
    shift,
)

ORIGIN = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC).timestamp()


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(ORIGIN + seconds, tz=UTC).isoformat().replace("+00:00", "Z")


def event(step: str, key: str, start: float, end: float) -> str:
    return json.dumps(
        {"at": moment(end), "operation": "bootstrap", "step": step, "key": key, "start": moment(start)}
    )


def records(*lines: str, started: float = 1.0) -> tuple[bytes, bytes]:
    return "\n".join(lines).encode(), json.dumps({"started": moment(started)}).encode()


def names(steps: tuple[Step, ...]) -> list[str]:
    return [step.name for step in steps]


def test_steps_begin_with_what_comes_before_the_first_record() -> None:
    events, provision = records(
        event("stage", "ab12", 3.0, 3.5), event("apply", "file:/etc/x", 4.0, 4.25), started=1.25
    )
    assert parse_steps(events, provision, ORIGIN) == (
        Step(name=START, begin=0.0, end=1.25),
        Step(name=CHECKS, begin=1.25, end=3.0),
        Step(name="stage", begin=3.0, end=3.5),
        Step(name="apply file:/etc/x", begin=4.0, end=4.25),
    )


def test_an_earlier_operation_of_the_same_log_does_not_count() -> None:
    events, provision = records(
        event("apply", "file:/etc/old", -60.0, -59.0),
        json.dumps({"at": moment(-58), "operation": "bootstrap", "start": moment(-61), "result": "left"}),
        event("stage", "ab12", 2.0, 3.0),
        json.dumps({"at": moment(4), "operation": "bootstrap", "start": moment(1), "result": "confirmed"}),
    )
    assert names(parse_steps(events, provision, ORIGIN)) == [START, CHECKS, "stage"]


STEPS = (
    Step(name="stage", begin=0.0, end=1.0),
    Step(name="apply file:/a", begin=1.0, end=1.125),
    Step(name="apply unit:containerd.service", begin=1.5, end=3.5),
    Step(name="apply file:/b", begin=3.5, end=3.75),
    Step(name="plan", begin=3.75, end=4.0),
    Step(name="plan", begin=4.0, end=4.5),
)


def test_small_changes_share_a_row_and_large_ones_have_their_own() -> None:
    rows = compose_rows(STEPS, least=0.5)
    assert [(row.label, row.seconds) for row in rows] == [
        ("stage", 1.0),
        ("apply, 2 below 0.5 s", 0.375),
        ("apply unit:containerd.service", 2.0),
        ("plan", 0.75),
    ]


def test_no_second_is_told_twice_and_none_is_lost() -> None:
    until = 4.25
    steps = cut(STEPS, until)
    told = sum(row.seconds for row in compose_rows(steps, least=0.5))
    assert told + find_gaps(steps, until) == pytest.approx(until)
    assert find_gaps(steps, until) == pytest.approx(0.375)


def test_what_begins_later_is_cut_off() -> None:
    assert names(cut(STEPS, 1.5)) == ["stage", "apply file:/a"]


def test_a_step_is_found_by_its_first_time() -> None:
    assert find_begin(STEPS, "plan") == 3.75
    assert find_begin(STEPS, "verify") is None


def test_steps_can_be_told_from_an_earlier_moment() -> None:
    assert shift(STEPS[:1], 10.0) == (Step(name="stage", begin=10.0, end=11.0),)
