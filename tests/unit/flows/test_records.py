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
    Bootstrapping,
    Provision,
    Recorder,
    find_provision,
    open_events,
    record_refusal,
    save_provision,
)
from flexnode.generation import Ending, Failure, Moment, Name, StateDirectory, Timing
from flexnode.generation.lock import hold

UNREADY = FlexError("the node is not Ready", code="node/not-ready", transient=True, hint="see the journal")
BUSY = StateError("an operation is running", code="state/busy", transient=True)
TIMINGS = (Timing(name=Name.VERIFY, seconds=21.0),)


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    return StateDirectory(root=tmp_path / "state")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def ending(clock: FakeClock, result: str = "confirmed", **rest: Any) -> Ending:
    return Ending(
        operation="bootstrap",
        started=clock.now(),
        seconds=21.5,
        result=result,
        generation="abc",
        timings=TIMINGS,
        **rest,
    )


def recorder(directory: StateDirectory, clock: FakeClock, *, bootstraps: bool = True) -> Recorder:
    bootstrapping = Bootstrapping(started=clock.now(), config="digest") if bootstraps else None
    events = open_events(directory, clock, "bootstrap")
    return Recorder(directory=directory, clock=clock, events=events, bootstrapping=bootstrapping)


def refuse(directory: StateDirectory, clock: FakeClock, error: FlexError = UNREADY) -> None:
    record_refusal(directory, clock, clock.now(), Failure.of(error))


def test_a_success_is_written_down_with_all_that_belongs_to_it(
    directory: StateDirectory, clock: FakeClock
) -> None:
    """Its time is that of the whole bootstrap, which checked the machine before its operation began."""
    started, record = clock.now(), recorder(directory, clock)
    clock.sleep(42)
    record(ending(clock))
    assert record.warnings == []
    assert find_provision(directory) == Provision(
        result="confirmed",
        started=started,
        ended=started + timedelta(seconds=42),
        config="digest",
        generation="abc",
        timings=TIMINGS,
    )


def test_scripts_read_it_as_json_whose_fields_are_always_there(
    directory: StateDirectory, clock: FakeClock
) -> None:
    recorder(directory, clock)(ending(clock))
    path = directory.root / "provision.json"
    written = json.loads(path.read_text())
    assert written == {
        "operation": "bootstrap",
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


def test_a_failure_is_written_down_as_one(directory: StateDirectory, clock: FakeClock) -> None:
    recorder(directory, clock)(ending(clock, "unconfirmed", failure=Failure.of(UNREADY)))
    found = find_provision(directory)
    assert found is not None
    assert (found.result, found.code, found.kind) == ("unconfirmed", "node/not-ready", "transient")
    assert (found.message, found.hint) == (UNREADY.message, UNREADY.hint)
    assert found.generation == "abc"


def test_what_is_no_bootstrap_says_nothing_of_the_last_one(
    directory: StateDirectory, clock: FakeClock
) -> None:
    recorder(directory, clock)(ending(clock))
    before = find_provision(directory)
    recorder(directory, clock, bootstraps=False)(ending(clock, "left"))
    assert find_provision(directory) == before


def test_a_bootstrap_that_never_began_is_written_down(directory: StateDirectory, clock: FakeClock) -> None:
    refuse(directory, clock)
    found = find_provision(directory)
    assert found is not None
    assert (found.result, found.code, found.kind) == ("failed", "node/not-ready", "transient")
    (line,) = read_events(directory)
    assert (line["operation"], line["result"], line["code"]) == ("bootstrap", "failed", "node/not-ready")


def test_a_record_that_is_not_text_is_as_good_as_none(directory: StateDirectory) -> None:
    directory.prepare()
    (directory.root / "provision.json").write_bytes(b'{"result": "\xe9"}')
    assert find_provision(directory) is None


@pytest.mark.parametrize("error", [BUSY, UNREADY], ids=["busy", "refused"])
def test_who_met_another_operation_does_not_speak_for_it(
    directory: StateDirectory, clock: FakeClock, error: FlexError
) -> None:
    """The other one may be the agent's bootstrap, and its result is the one that people look for."""
    directory.prepare()
    with hold(directory.lock, "bootstrap", clock=clock):
        refuse(directory, clock, error)
        recorder(directory, clock)(ending(clock))
    found = find_provision(directory)
    assert found is not None
    assert found.result == "confirmed"
    assert [event["result"] for event in read_events(directory)] == ["confirmed"]


@pytest.mark.parametrize("error", [BUSY, UNREADY], ids=["busy", "refused"])
def test_a_bootstrap_that_was_refused_while_another_one_ended_leaves_it_the_last_word(
    directory: StateDirectory, clock: FakeClock, error: FlexError
) -> None:
    started = clock.now()
    clock.sleep(1)
    recorder(directory, clock)(ending(clock))
    record_refusal(directory, clock, started, Failure.of(error))
    found = find_provision(directory)
    assert found is not None
    assert found.result == "confirmed"


def test_a_bootstrap_that_met_another_operation_leaves_its_own_predecessors_record(
    directory: StateDirectory, clock: FakeClock
) -> None:
    recorder(directory, clock)(ending(clock))
    clock.sleep(60)
    refuse(directory, clock, BUSY)
    found = find_provision(directory)
    assert found is not None
    assert found.result == "confirmed"


@pytest.fixture
def unwritable(tmp_path: Path) -> StateDirectory:
    """A file lies where the directory should be: not even root can write below it."""
    (tmp_path / "state").write_text("in the way")
    return StateDirectory(root=tmp_path / "state")


def test_a_disk_that_takes_no_record_takes_nothing_from_what_was_done(
    unwritable: StateDirectory, clock: FakeClock
) -> None:
    """The node is Ready: told as failed, it would be bootstrapped again for ever."""
    record = recorder(unwritable, clock)
    record(ending(clock))
    (warning,) = record.warnings
    assert "provision.json" in warning or str(unwritable.root) in warning


def test_a_disk_that_takes_no_record_does_not_hide_what_went_wrong(
    unwritable: StateDirectory, clock: FakeClock
) -> None:
    refuse(unwritable, clock)
    assert unwritable.root.read_text() == "in the way"


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


def test_an_operation_ends_with_a_line_that_says_how(directory: StateDirectory, clock: FakeClock) -> None:
    directory.prepare()
    events = open_events(directory, clock, "bootstrap")
    started = ending(clock, "unconfirmed", failure=Failure.of(UNREADY))
    clock.sleep(30)
    events.close(started)
    assert read_events(directory) == [
        {
            "at": "2026-01-01T00:00:30Z",
            "operation": "bootstrap",
            "result": "unconfirmed",
            "code": "node/not-ready",
            "kind": "transient",
            "generation": "abc",
            "start": "2026-01-01T00:00:00Z",
            "seconds": 21.5,
        }
    ]


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
