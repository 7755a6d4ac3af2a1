"""What `status` reads is what operations and the agent wrote, on a broken machine and without root too."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from flexnode.clock import FakeClock
from flexnode.errors import Kind
from flexnode.flows.records import Provision, open_events, save_provision
from flexnode.flows.status import (
    AGENT_LOCK,
    STATUS_FILE,
    AgentStatus,
    NodeStatus,
    find_last_operation,
    read_status,
)
from flexnode.generation import (
    Desired,
    Ending,
    Failure,
    Generation,
    Moment,
    Name,
    NodeState,
    Rejection,
    StateDirectory,
)
from flexnode.generation.lock import hold
from flexnode.generation.steps import Timing
from flexnode.host import Command, run
from unit.generation.samples import make_node

WHEN = datetime(2026, 1, 1, tzinfo=UTC)
AGENT = AgentStatus(
    version="1", pid=1, started=WHEN, updated=WHEN, phase="supervising", reason="AsConfigured", message="fine"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    (tmp_path / "run").mkdir()
    return tmp_path


@pytest.fixture
def directory(root: Path) -> StateDirectory:
    return StateDirectory(root=root / "state")


def read(root: Path) -> NodeStatus:
    return read_status(root=root / "state", run=root / "run")


def test_on_a_machine_that_the_product_never_touched_nothing_is_there(tmp_path: Path) -> None:
    assert read(tmp_path) == NodeStatus(agent_runs=False)


def test_the_state_that_activations_write_is_what_is_read(root: Path, directory: StateDirectory) -> None:
    directory.save_state(
        NodeState(
            current="g2",
            previous="g1",
            desired=Desired.JOINED,
            inputs="i",
            rejected={"g3": Rejection(reason="it did not become Ready", inputs="i", when=WHEN)},
        )
    )
    state = read(root).state
    assert state is not None
    assert (state.current, state.previous, state.desired) == ("g2", "g1", "joined")
    assert state.rejected["g3"].reason == "it did not become Ready"


PREPARED = make_node().baked()


@pytest.mark.parametrize(
    ("current", "previous", "prepared", "can_roll_back"),
    [
        (make_node(), None, False, True),
        (PREPARED, None, True, True),
        (make_node(), PREPARED, False, False),
        (make_node(), make_node(kubelet="1.35.0"), False, True),
        (PREPARED, make_node(kubelet="1.35.0").baked(), True, True),
    ],
)
def test_whether_the_machine_is_a_node_is_read_from_its_generation(
    root: Path,
    directory: StateDirectory,
    current: Generation,
    previous: Generation | None,
    prepared: bool,
    can_roll_back: bool,
) -> None:
    for each in filter(None, (current, previous)):
        directory.save_generation(each, each.id)
    directory.save_state(NodeState(current=current.id, previous=previous.id if previous else None))
    found = read(root)
    assert (found.prepared, found.can_roll_back, found.unreadable) == (prepared, can_roll_back, ())


def test_the_record_of_the_last_bootstrap_is_what_is_read(root: Path, directory: StateDirectory) -> None:
    provision = Provision(
        result="failed",
        started=WHEN,
        ended=WHEN,
        code="x/y",
        kind=Kind.TERMINAL,
        timings=(Timing(name=Name.STAGE, seconds=1.5, key="g"),),
    )
    save_provision(directory, provision)
    found = read(root).provision
    assert msgspec.to_builtins(found) == msgspec.to_builtins(provision)


def test_who_holds_the_lock_is_told_and_a_dead_one_is_not(root: Path, directory: StateDirectory) -> None:
    with hold(directory.lock, "upgrade", clock=FakeClock()):
        busy = read(root).busy
    assert busy is not None
    assert (busy.operation, busy.pid) == ("upgrade", os.getpid())
    directory.lock.write_text('{"pid":1,"boot":"","operation":"upgrade","since":"2026-01-01T00:00:00Z"}')
    assert read(root).busy is None


def test_an_agent_that_died_is_not_taken_for_one_that_runs(root: Path) -> None:
    (root / "run" / STATUS_FILE).write_bytes(msgspec.json.encode(AGENT))
    assert read(root).agent == AGENT
    assert read(root).agent_runs is False
    with hold(root / "run" / AGENT_LOCK, "agent", clock=FakeClock()):
        assert read(root).agent_runs is True


def test_an_operation_that_was_cut_off_is_told(root: Path, directory: StateDirectory) -> None:
    directory.journal.write_text("")
    assert read(root).unfinished


@pytest.mark.parametrize("name", ["state.json", "provision.json"])
def test_what_is_damaged_is_named_and_hides_nothing_else(
    root: Path, directory: StateDirectory, name: str
) -> None:
    directory.save_state(NodeState(current="g"))
    save_provision(directory, Provision(result="confirmed", started=WHEN, ended=WHEN))
    (directory.root / name).write_bytes(b'{"half":')
    found = read(root)
    assert found.unreadable == (str(directory.root / name),)
    assert (found.state is None) != (found.provision is None)


def test_the_last_operation_is_told_from_the_event_log(root: Path, directory: StateDirectory) -> None:
    clock = FakeClock()

    def perform(operation: str, last: Moment) -> None:
        events = open_events(directory, clock, operation)
        for name, seconds in ((Name.PLAN, 1), (Name.STAGE, 2), (Name.APPLY, 3), (Name.APPLY, 4)):
            events(Moment.BEGIN, name, str(seconds))
            clock.sleep(seconds)
            events(Moment.END if seconds < 4 else last, name, str(seconds))

    perform("bootstrap", Moment.END)
    perform("repair", Moment.END)
    perform("repair", Moment.FAILED)
    with (directory.root / "events.jsonl").open("ab") as file:
        file.write(b'{"at": "\xe9"}\n{"at": "2026-01-0')  # a disk that went bad, and a power cut
    last = read(root).last
    assert last is not None
    assert (last.operation, last.outcome, last.step) == ("repair", "failed", "apply")
    assert [(timing.name, timing.seconds) for timing in last.timings] == [
        ("plan", 1),
        ("stage", 2),
        ("apply", 7),
    ]
    assert (last.ended - last.started).total_seconds() == 10


@pytest.mark.parametrize("before", ["repair", "bootstrap"])
def test_an_operation_that_ended_is_told_with_its_result(
    root: Path, directory: StateDirectory, before: str
) -> None:
    """Also one that changed nothing, right after another one of its name."""
    clock = FakeClock()
    for operation, name, seconds in ((before, Name.APPLY, 7), ("repair", Name.VERIFY, 3)):
        events = open_events(directory, clock, operation)
        started = clock.now()
        events(Moment.BEGIN, name, "")
        clock.sleep(seconds)
        events(Moment.FAILED, name, "")
        failure = Failure(code="node/not-ready", kind=Kind.TRANSIENT, message="")
        events.close(
            Ending(operation=operation, started=started, seconds=seconds, result="degraded", failure=failure)
        )
    last = read(root).last
    assert last is not None
    assert (last.operation, last.result, last.code, last.step) == (
        "repair",
        "degraded",
        "node/not-ready",
        "verify",
    )
    assert [(timing.name, timing.seconds) for timing in last.timings] == [("verify", 3)]
    assert (last.ended - last.started).total_seconds() == 3


def test_an_operation_that_runs_is_not_told_with_the_result_of_the_one_before(
    root: Path, directory: StateDirectory
) -> None:
    clock = FakeClock()
    events = open_events(directory, clock, "repair")
    events.close(Ending(operation="repair", started=clock.now(), seconds=0, result="confirmed"))
    events(Moment.END, Name.APPLY, "")
    last = read(root).last
    assert last is not None
    assert (last.result, last.step) == ("", "apply")


def test_without_events_there_is_no_last_operation() -> None:
    assert find_last_operation([]) is None


def test_it_starts_without_anything_that_could_change_a_machine() -> None:
    """Nor anything that is slow to import: `status` is what people type when they are in a hurry."""
    script = (
        "import sys; from flexnode.cli.root import root; import flexnode.cli.status;"
        "from flexnode.flows.status import read_status; read_status();"
        "print(*sorted(name for name in sys.modules))"
    )
    loaded = set(run(Command(argv=(sys.executable, "-c", script))).text.split())
    slow = {
        "httpx",
        "yaml",
        "ssl",
        "subprocess",
        "logging",
        "flexnode.host",
        "flexnode.generation",
        "flexnode.kube",
    }
    assert "flexnode.flows.status" in loaded
    assert not loaded & slow
