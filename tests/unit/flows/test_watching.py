"""People see each step of an activation begin and end, whatever becomes of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.clock import FakeClock
from flexnode.flows.records import Events
from flexnode.flows.watching import Watcher
from flexnode.generation import Moment, Name
from unit.flows.samples import Books

BEGIN, END, FAILED = Moment.BEGIN, Moment.END, Moment.FAILED
NOWHERE = Path("/dev/null/events.jsonl")  # below a file nothing can be written


def watch(moments: Sequence[tuple[Moment, Name, str]], path: Path = NOWHERE) -> Books:
    books = Books()
    with Watcher(
        progress=books, events=Events(path=path, clock=FakeClock(), operation="bootstrap")
    ) as watcher:
        for moment in moments:
            watcher(*moment)
    return books


def test_an_activation_is_told_as_people_think_of_it() -> None:
    books = watch(
        [
            (BEGIN, Name.STAGE, "id"),
            (END, Name.STAGE, "id"),
            (BEGIN, Name.STATE, "state"),
            (END, Name.STATE, "state"),
            (BEGIN, Name.APPLY, "file:/etc/one"),
            (END, Name.APPLY, "file:/etc/one"),
            (BEGIN, Name.APPLY, "file:/etc/two"),
            (END, Name.APPLY, "file:/etc/two"),
            (BEGIN, Name.RESTART, "kubelet.service"),
            (END, Name.RESTART, "kubelet.service"),
            (BEGIN, Name.VERIFY, "id"),
            (END, Name.VERIFY, "id"),
        ]
    )
    assert books.told == [
        "stage its files",
        "stage its files: done",
        "apply",
        "  file:/etc/one",
        "  file:/etc/two",
        "apply: done",
        "restart services",
        "  kubelet.service",
        "restart services: done",
        "wait until it is Ready",
        "wait until it is Ready: done",
    ]


def test_a_step_that_failed_is_shown_as_failed() -> None:
    books = watch([(BEGIN, Name.APPLY, "file:/etc/one"), (FAILED, Name.APPLY, "file:/etc/one")])
    assert books.told[-1] == "apply: failed"


def test_a_way_back_that_fails_fails_with_what_it_was_doing() -> None:
    books = watch(
        [(BEGIN, Name.ROLL_BACK, "id"), (BEGIN, Name.APPLY, "file:/etc/one"), (FAILED, Name.ROLL_BACK, "id")]
    )
    assert books.told[-2:] == ["apply: failed", "go back: failed"]


def test_what_is_open_when_an_operation_ends_ends_with_it() -> None:
    books = watch([(BEGIN, Name.APPLY, "file:/etc/one"), (END, Name.APPLY, "file:/etc/one")])
    assert books.told[-1] == "apply: done"


def test_what_is_open_when_an_operation_fails_has_failed() -> None:
    books = Books()
    events = Events(path=NOWHERE, clock=FakeClock(), operation="bootstrap")

    def fail() -> None:
        with Watcher(progress=books, events=events) as watcher:
            watcher(BEGIN, Name.APPLY, "file:/etc/one")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert books.told[-1] == "apply: failed"


MOMENTS = st.lists(st.tuples(st.sampled_from(Moment), st.sampled_from(Name), st.sampled_from(["", "a"])))


@given(MOMENTS)
def test_steps_nest_and_end_in_whatever_order_moments_come(moments: list[tuple[Moment, Name, str]]) -> None:
    """A crash, a retry or a new version may leave out any of them; `Books` refuses what does not nest."""
    assert watch(moments).open == []


@given(MOMENTS)
def test_no_step_is_shown_as_done_that_failed(moments: list[tuple[Moment, Name, str]]) -> None:
    books = Books()
    watcher = Watcher(progress=books, events=Events(path=NOWHERE, clock=FakeClock(), operation="bootstrap"))
    for moment in moments:
        shown = len(books.told)
        watcher(*moment)
        ended = [line for line in books.told[shown:] if line.endswith((": done", ": failed"))]
        if moment[0] is FAILED:
            assert all(line.endswith(": failed") for line in ended)


def test_every_step_but_the_small_writes_is_an_event(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    watch([(moment, name, "key") for name in Name for moment in (BEGIN, END)], path)
    told = [json.loads(line)["step"] for line in path.read_text().splitlines()]
    assert told == [name.value for name in Name if name not in (Name.JOURNAL, Name.LEDGER, Name.STATE)]
