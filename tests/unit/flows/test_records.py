"""What an operation leaves behind can be read later, and writing it never costs the operation."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flexnode.clock import FakeClock
from flexnode.errors import FlexError, StateError
from flexnode.flows.records import (
    EVENTS_LIMIT,
    Provision,
    find_provision,
    open_events,
    record_bootstrap,
    save_provision,
)
from flexnode.generation import Failure, Moment, Name, Outcome, Result, StateDirectory, Timing

UNREADY = FlexError("the node is not Ready", code="node/not-ready", transient=True, hint="see the journal")


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    return StateDirectory(root=tmp_path / "state")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def outcome(result: Result = Result.CONFIRMED, **rest: Any) -> Outcome:
    timings = (Timing(name=Name.VERIFY, seconds=21.0),)
    return Outcome(result=result, operation="bootstrap", generation="abc", timings=timings, **rest)


def test_a_success_is_written_down_with_all_that_belongs_to_it(
    directory: StateDirectory, clock: FakeClock
) -> None:
    def work() -> tuple[Outcome, str]:
        clock.sleep(42)
        return outcome(), "digest of the configuration"

    started = clock.now()
    assert record_bootstrap(directory, clock, work) == outcome()
    assert find_provision(directory) == Provision(
        result="confirmed",
        started=started,
        ended=started + timedelta(seconds=42),
        config="digest of the configuration",
        generation="abc",
        timings=outcome().timings,
    )


def test_scripts_read_it_as_json_whose_fields_are_always_there(
    directory: StateDirectory, clock: FakeClock
) -> None:
    record_bootstrap(directory, clock, lambda: (outcome(), "digest"))
    path = directory.root / "provision.json"
    written = json.loads(path.read_text())
    assert written == {
        "result": "confirmed",
        "started": "2026-01-01T00:00:00Z",
        "ended": "2026-01-01T00:00:00Z",
        "code": "ok",
        "kind": "",
        "message": "",
        "hint": "",
        "config": "digest",
        "generation": "abc",
        "timings": [{"name": "verify", "seconds": 21.0}],
    }
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_failure_inside_an_outcome_is_written_down_as_one(
    directory: StateDirectory, clock: FakeClock
) -> None:
    failed = outcome(Result.UNCONFIRMED, failure=Failure.of(UNREADY))
    record_bootstrap(directory, clock, lambda: (failed, "digest"))
    found = find_provision(directory)
    assert found is not None
    assert (found.result, found.code, found.kind) == ("unconfirmed", "node/not-ready", "transient")
    assert (found.message, found.hint) == (UNREADY.message, UNREADY.hint)
    assert found.generation == "abc"


def test_a_failure_that_is_raised_is_written_down_and_raised(
    directory: StateDirectory, clock: FakeClock
) -> None:
    def work() -> tuple[Outcome, str]:
        raise UNREADY

    with pytest.raises(FlexError) as caught:
        record_bootstrap(directory, clock, work)
    assert caught.value is UNREADY
    found = find_provision(directory)
    assert found is not None
    assert (found.result, found.code, found.kind) == ("failed", "node/not-ready", "transient")


def test_a_record_that_is_not_text_is_as_good_as_none(directory: StateDirectory) -> None:
    directory.prepare()
    (directory.root / "provision.json").write_bytes(b'{"result": "\xe9"}')
    assert find_provision(directory) is None


def test_who_met_another_operation_does_not_speak_for_it(directory: StateDirectory, clock: FakeClock) -> None:
    """The other one may be the agent's bootstrap, and its result is the one that people look for."""
    done = outcome(Result.CONFIRMED)
    record_bootstrap(directory, clock, lambda: (done, "digest"))

    def work() -> tuple[Outcome, str]:
        raise StateError("busy", code="state/busy", transient=True)

    with pytest.raises(StateError):
        record_bootstrap(directory, clock, work)
    found = find_provision(directory)
    assert found is not None
    assert found.result == "confirmed"


@pytest.fixture
def unwritable(tmp_path: Path) -> StateDirectory:
    """A file lies where the directory should be: not even root can write below it."""
    (tmp_path / "state").write_text("in the way")
    return StateDirectory(root=tmp_path / "state")


def test_a_disk_that_takes_no_record_takes_nothing_from_a_success(
    unwritable: StateDirectory, clock: FakeClock
) -> None:
    """The node is Ready: told as failed, it would be bootstrapped again for ever."""
    done = record_bootstrap(unwritable, clock, lambda: (outcome(), "digest"))
    assert done.result is Result.CONFIRMED
    assert done.failure is None
    (warning,) = done.warnings
    assert "provision.json" in warning or str(unwritable.root) in warning


def test_a_disk_that_takes_no_record_does_not_hide_what_went_wrong(
    unwritable: StateDirectory, clock: FakeClock
) -> None:
    def work() -> tuple[Outcome, str]:
        raise UNREADY

    with pytest.raises(FlexError) as caught:
        record_bootstrap(unwritable, clock, work)
    assert caught.value is UNREADY


@pytest.mark.parametrize("damage", ["", "{", '{"result": 1}', "\0\0\0", '{"result": "x"}'])
def test_a_damaged_record_is_none(directory: StateDirectory, clock: FakeClock, damage: str) -> None:
    save_provision(directory, Provision(result="x", started=clock.now(), ended=clock.now()))
    (directory.root / "provision.json").write_text(damage)
    assert find_provision(directory) is None


def test_no_bootstrap_has_no_record(directory: StateDirectory) -> None:
    assert find_provision(directory) is None


def read_events(directory: StateDirectory, name: str = "events.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory.root / name).read_text().splitlines()]


def test_an_event_has_the_steps_begin_its_end_and_its_outcome(
    directory: StateDirectory, clock: FakeClock
) -> None:
    directory.prepare()
    events = open_events(directory, clock, "bootstrap")
    events(Moment.BEGIN, Name.APPLY, "file:/etc/one")
    clock.sleep(3)
    events(Moment.FAILED, Name.APPLY, "file:/etc/one")
    assert read_events(directory) == [
        {
            "at": "2026-01-01T00:00:03Z",
            "operation": "bootstrap",
            "step": "apply",
            "key": "file:/etc/one",
            "start": "2026-01-01T00:00:00Z",
            "outcome": "failed",
        }
    ]
    assert (directory.root / "events.jsonl").stat().st_mode & 0o777 == 0o600


def test_events_of_all_operations_stand_in_one_log(directory: StateDirectory, clock: FakeClock) -> None:
    directory.prepare()
    for operation in ("bootstrap", "unbootstrap"):
        events = open_events(directory, clock, operation)
        events(Moment.BEGIN, Name.STAGE, "id")
        events(Moment.END, Name.STAGE, "id")
    assert [event["operation"] for event in read_events(directory)] == ["bootstrap", "unbootstrap"]


def test_a_log_that_grew_large_is_put_aside_and_no_event_is_lost(
    directory: StateDirectory, clock: FakeClock
) -> None:
    """A node lives for years on a small disk."""
    directory.prepare()
    log = directory.root / "events.jsonl"
    filler = b'{"step": "filler"}\n'
    log.write_bytes(filler * (EVENTS_LIMIT // len(filler)))
    events = open_events(directory, clock, "bootstrap")
    for number in range(3):
        events(Moment.BEGIN, Name.APPLY, str(number))
        events(Moment.END, Name.APPLY, str(number))
    kept = [*read_events(directory, "events.jsonl.1"), *read_events(directory)]
    assert [event["key"] for event in kept if event["step"] == "apply"] == ["0", "1", "2"]
    assert log.stat().st_size < 1000


def test_no_more_than_one_old_log_is_kept(directory: StateDirectory, clock: FakeClock) -> None:
    directory.prepare()
    log = directory.root / "events.jsonl"
    for _ in range(3):
        log.write_bytes(b"x" * EVENTS_LIMIT + b"\n")
        events = open_events(directory, clock, "bootstrap")
        events(Moment.END, Name.STAGE, "id")
    assert sorted(os.listdir(directory.root)) == ["events.jsonl.1"]


def test_events_that_cannot_be_written_cost_nothing(unwritable: StateDirectory, clock: FakeClock) -> None:
    events = open_events(unwritable, clock, "bootstrap")
    events(Moment.BEGIN, Name.STAGE, "id")
    events(Moment.END, Name.STAGE, "id")
    assert unwritable.root.read_text() == "in the way"


def test_an_event_log_that_is_a_link_is_not_followed(directory: StateDirectory, clock: FakeClock) -> None:
    directory.prepare()
    other = directory.root.parent / "other"
    other.write_text("somebody else's")
    (directory.root / "events.jsonl").symlink_to(other)
    open_events(directory, clock, "bootstrap")(Moment.END, Name.STAGE, "id")
    assert other.read_text() == "somebody else's"


def test_opening_the_log_makes_nothing(directory: StateDirectory, clock: FakeClock) -> None:
    """Whoever only plans opens it too."""
    open_events(directory, clock, "plan")
    assert not directory.root.exists()
