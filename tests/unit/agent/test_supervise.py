"""What the agent does next, in every situation that it can find itself in."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.agent.supervise import (
    FIRST_DELAY,
    LONGEST_DELAY,
    NEVER,
    REPAIRS,
    SPREAD,
    Mind,
    Pause,
    Situation,
    Task,
    after_look,
    after_repair,
    after_success,
    choose,
    next_examination,
    rest,
    settle,
)
from flexnode.errors import Kind
from flexnode.generation import Desired, Failure

NOW = 10_000.0
SOFT = Failure(code="x/soft", kind=Kind.TRANSIENT, message="for now")
HARD = Failure(code="x/hard", kind=Kind.TERMINAL, message="for good")
WAITING = Pause(failure=SOFT, stamp="s", until=NOW + 50)
RESTING = Pause(failure=HARD, stamp="s")

FRESH = Situation(config="c", stamp="s")
JOINED = Situation(desired=Desired.JOINED, current="g", config="c", stamp="s")
PREPARED = replace(JOINED, prepared=True)
CORDONED = replace(JOINED, cordoned=True)
CONTENT = Mind(generation="g", config="c", checked=NOW - 100)
DRIFTED = replace(CONTENT, drift=("file:/x",))


@pytest.mark.parametrize(
    ("situation", "mind", "task"),
    [
        (FRESH, Mind(), Task.APPLY),
        (replace(FRESH, config=""), Mind(), Task.WAIT),
        (replace(FRESH, busy=True), Mind(), Task.WAIT),
        (FRESH, Mind(pause=WAITING), Task.WAIT),
        (FRESH, Mind(pause=replace(WAITING, until=NOW)), Task.APPLY),
        (FRESH, Mind(pause=RESTING), Task.WAIT),
        (replace(FRESH, stamp="other"), Mind(pause=RESTING), Task.APPLY),
        # A first bootstrap goes on with its secrets; without a configuration, recovery does what it can.
        (replace(FRESH, unfinished=True), Mind(), Task.APPLY),
        (replace(FRESH, unfinished=True, config=""), Mind(), Task.RECOVER),
        (replace(FRESH, desired=Desired.LEFT), Mind(), Task.IDLE),
        (replace(FRESH, desired=Desired.LEFT, unfinished=True), Mind(), Task.RECOVER),
        (JOINED, CONTENT, Task.WAIT),
        (replace(JOINED, unfinished=True), CONTENT, Task.RECOVER),
        (replace(JOINED, unfinished=True), replace(CONTENT, pause=WAITING), Task.WAIT),
        (replace(JOINED, config="new"), CONTENT, Task.APPLY),
        (replace(JOINED, config="new", unfinished=True), CONTENT, Task.RECOVER),
        (replace(JOINED, config=""), CONTENT, Task.WAIT),
        (replace(JOINED, config="new"), replace(CONTENT, needs="drain", needs_config="new"), Task.APPLY),
        # A node that was cordoned for a change stays so while it is tried, and only then.
        (replace(CORDONED, config="new"), CONTENT, Task.APPLY),
        (replace(CORDONED, config="new"), replace(CONTENT, pause=WAITING), Task.WAIT),
        (replace(CORDONED, config="new"), replace(CONTENT, pause=RESTING), Task.RELEASE),
        (replace(CORDONED, unfinished=True), replace(CONTENT, pause=RESTING), Task.WAIT),
        (CORDONED, CONTENT, Task.RELEASE),
        (replace(CORDONED, config=""), CONTENT, Task.RELEASE),
        (CORDONED, replace(CONTENT, repair_pause=WAITING), Task.WAIT),
        (CORDONED, replace(CONTENT, repair_pause=replace(WAITING, until=NOW)), Task.RELEASE),
        (replace(CORDONED, busy=True), CONTENT, Task.WAIT),
        (replace(CORDONED, desired=Desired.LEFT), CONTENT, Task.IDLE),
        (replace(JOINED, busy=True, config="new"), CONTENT, Task.WAIT),
        (replace(JOINED, desired=Desired.LEFT), CONTENT, Task.IDLE),
        # A prepared machine joins once it knows where, whatever the configuration was that prepared it.
        (PREPARED, Mind(), Task.APPLY),
        (PREPARED, CONTENT, Task.APPLY),
        (PREPARED, Mind(pause=WAITING), Task.WAIT),
        (replace(PREPARED, config=""), Mind(), Task.WAIT),
        (replace(PREPARED, config=""), DRIFTED, Task.WAIT),
        (replace(PREPARED, unfinished=True), Mind(), Task.APPLY),
        (replace(PREPARED, unfinished=True, config=""), Mind(), Task.RECOVER),
        # Drift
        (JOINED, replace(CONTENT, checked=None), Task.CHECK),
        (JOINED, replace(CONTENT, checked=NOW - 3600), Task.CHECK),
        (replace(JOINED, touched=NOW - 3), CONTENT, Task.CHECK),
        (replace(JOINED, touched=NOW - 1), CONTENT, Task.WAIT),
        (replace(JOINED, touched=NOW - 3), replace(CONTENT, checked=NOW - 5), Task.WAIT),
        (JOINED, DRIFTED, Task.REPAIR),
        (replace(JOINED, repairs=False), DRIFTED, Task.WAIT),
        (JOINED, replace(DRIFTED, repairs=(NOW - 10,) * REPAIRS), Task.WAIT),
        (JOINED, replace(DRIFTED, repairs=(NOW - 4000,) * REPAIRS), Task.REPAIR),
        (JOINED, replace(DRIFTED, repair_pause=WAITING), Task.WAIT),
        # A change that did not work keeps nobody from putting back what somebody else broke.
        (replace(JOINED, config="new"), replace(DRIFTED, pause=RESTING), Task.REPAIR),
        (replace(JOINED, config="new", touched=NOW - 3), replace(CONTENT, pause=RESTING), Task.CHECK),
    ],
)
def test_the_most_urgent_of_what_may_be_done_comes_next(situation: Situation, mind: Mind, task: Task) -> None:
    assert choose(situation, mind, NOW).task is task


def test_it_wakes_for_whatever_is_due_first() -> None:
    assert choose(JOINED, CONTENT, NOW).due == NOW - 100 + 3600
    assert choose(JOINED, replace(CONTENT, pause=WAITING), NOW).due == NOW + 50
    assert choose(replace(JOINED, touched=NOW - 1), CONTENT, NOW).due == NOW + 1
    assert choose(FRESH, Mind(pause=RESTING), NOW).due == NEVER
    assert choose(CORDONED, replace(CONTENT, repair_pause=WAITING), NOW).due == NOW + 50
    exhausted = replace(DRIFTED, repairs=tuple(NOW - 3000 + number for number in range(REPAIRS)))
    assert choose(JOINED, exhausted, NOW).due == NOW + 600


def test_pauses_grow_to_a_cap_and_are_spread() -> None:
    pause, delays = None, []
    for _ in range(8):
        pause = rest(pause, SOFT, stamp="s", now=0, chance=0.5)
        assert pause.until is not None
        delays.append(pause.until)
    assert delays == [10, 20, 40, 80, 160, 300, 300, 300]
    early, late = (rest(None, SOFT, stamp="s", now=0, chance=chance).until for chance in (0.0, 1.0))
    assert (early, late) == (FIRST_DELAY * (1 - SPREAD), FIRST_DELAY * (1 + SPREAD))


@given(failures=st.integers(0, 10**6), chance=st.floats(0, 1), least=st.floats(0, 120))
def test_no_pause_is_too_long_or_shorter_than_a_server_asked_for(
    failures: int, chance: float, least: float
) -> None:
    before = Pause(failure=SOFT, stamp="s", failures=failures)
    pause = rest(before, SOFT, stamp="s", now=0, chance=chance, least=least)
    assert pause.until is not None
    assert least <= pause.until <= max(LONGEST_DELAY * (1 + SPREAD), least)


def test_what_was_rolled_back_rests_though_its_failure_might_pass() -> None:
    assert rest(None, SOFT, stamp="s", now=NOW, chance=0.5, final=True).until is None
    assert rest(None, HARD, stamp="s", now=NOW, chance=0.5).until is None


def test_other_inputs_end_every_pause_and_every_wait_for_consent() -> None:
    mind = Mind(pause=RESTING, repair_pause=WAITING, needs="drain", needs_config="c")
    assert settle(mind, FRESH) == mind
    assert settle(mind, replace(FRESH, stamp="other", config="d")) == Mind()


def test_success_forgets_what_went_wrong_but_not_how_often_somebody_meddled() -> None:
    mind = replace(DRIFTED, pause=WAITING, repair_pause=RESTING, needs="drain", repairs=(NOW,))
    after = after_success(mind, generation="h", config="d")
    assert after == Mind(generation="h", config="d", checked=NOW - 100, repairs=(NOW,))


def test_files_are_read_again_in_time_however_often_somebody_touches_them() -> None:
    """The first look of a process trusts what others remember; those in between need not read, either."""
    mind = after_look(replace(CONTENT, checked=None), NOW)
    assert next_examination(JOINED, mind) == NOW + 3600
    for minutes in (20, 40, 59):
        mind = after_look(mind, NOW + minutes * 60)
    assert mind.checked == NOW + 59 * 60
    assert next_examination(JOINED, mind) == NOW + 3600
    assert choose(JOINED, mind, NOW + 3599).task is Task.WAIT
    assert choose(JOINED, mind, NOW + 3600).task is Task.CHECK
    mind = after_look(mind, NOW + 3600, examined=True)
    assert next_examination(JOINED, mind) == NOW + 7200


def test_repairs_of_long_ago_do_not_count() -> None:
    assert after_repair(Mind(repairs=(NOW - 3601, NOW - 10)), NOW).repairs == (NOW - 10, NOW)
