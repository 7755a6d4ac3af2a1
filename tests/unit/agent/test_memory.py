"""What survives the agent's process, and what a clock that jumps does to it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from flexnode.agent.health import Record
from flexnode.agent.memory import Marked, Memory
from flexnode.agent.supervise import LONGEST_DELAY, Mind, Pause
from flexnode.clock import FakeClock
from flexnode.errors import Kind
from flexnode.generation import Failure, StateDirectory

FAILURE = Failure(code="x/y", kind=Kind.TRANSIENT, message="m")
MARKED = Marked(labels={"a": "1"}, annotations={}, taints=("k:NoSchedule",))


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    return StateDirectory(root=tmp_path)


def reboot(clock: FakeClock, *, later: float) -> FakeClock:
    """The monotonic clock begins anew, the calendar goes on."""
    return FakeClock(clock.now() + timedelta(seconds=later))


def keep(directory: StateDirectory, clock: FakeClock, mind: Mind, **restarts: tuple[float, ...]) -> None:
    records = {name: Record(restarts=times, strikes=1, invocation="i") for name, times in restarts.items()}
    Memory(directory, clock).keep(mind, records, MARKED)


def test_everything_that_counts_is_recalled(directory: StateDirectory) -> None:
    clock = FakeClock()
    clock.sleep(1000)
    mind = Mind(
        generation="g",
        config="c",
        pause=Pause(failure=FAILURE, stamp="s", failures=3, until=1100.0),
        repair_pause=Pause(failure=FAILURE, stamp="s"),
        repairs=(400.0, 900.0),
    )
    keep(directory, clock, mind, kubelet=(700.0,))
    recalled, records, marked = Memory(directory, reboot(clock, later=50)).recall()
    assert recalled.pause == Pause(failure=FAILURE, stamp="s", failures=3, until=50.0)
    assert recalled.repair_pause == Pause(failure=FAILURE, stamp="s")
    assert recalled.repairs == (-650.0, -150.0)
    assert (recalled.generation, recalled.config) == ("g", "c")
    assert records == {"kubelet": Record(restarts=(-350.0,))}
    assert marked == MARKED


@pytest.mark.parametrize("jump", [-86_400.0, 0.0, 86_400.0])
def test_a_clock_that_jumped_makes_no_pause_longer_than_the_longest(
    directory: StateDirectory, jump: float
) -> None:
    clock = FakeClock()
    mind = Mind(pause=Pause(failure=FAILURE, stamp="s", until=200.0), repairs=(0.0,))
    keep(directory, clock, mind)
    after = reboot(clock, later=jump)
    recalled, _, _ = Memory(directory, after).recall()
    assert recalled.pause is not None
    assert recalled.pause.until is not None
    assert 0.0 <= recalled.pause.until <= LONGEST_DELAY
    assert recalled.repairs[0] <= after.monotonic()


def test_at_rest_nothing_is_written(directory: StateDirectory) -> None:
    clock = FakeClock()
    memory = Memory(directory, clock)
    mind = Mind(generation="g", repairs=(0.25,))
    memory.keep(mind, {}, MARKED)
    before = (directory.root / "agent.json").stat().st_ino
    for _ in range(10):
        clock.sleep(60.1)
        memory.keep(mind, {}, MARKED)
    assert (directory.root / "agent.json").stat().st_ino == before


@pytest.mark.parametrize("data", [b"", b"{", b'{"schema":1,"sha256":"0","payload":{}}'])
def test_a_damaged_memory_is_none(directory: StateDirectory, data: bytes) -> None:
    (directory.root / "agent.json").write_bytes(data)
    assert Memory(directory, FakeClock()).recall() == (Mind(), {}, Marked())


def test_a_machine_that_left_owes_nothing(directory: StateDirectory) -> None:
    memory = Memory(directory, FakeClock())
    memory.keep(Mind(generation="g"), {}, MARKED)
    memory.forget()
    memory.forget()
    assert memory.recall() == (Mind(), {}, Marked())
