"""Every operation has a last word, told while nobody else may change the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flexnode.errors import FlexError
from flexnode.generation import Activation, Ending, Generation, Moment, Name, Stopped, find_holder
from unit.generation.samples import Crash, Lab, make_node

FIRST = make_node()
NEXT = make_node(kubelet="1.35.0")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "state")


@pytest.fixture
def node(lab: Lab) -> Lab:
    lab.activation.activate(FIRST, inputs="first")
    return lab


def watched(lab: Lab, endings: list[Ending]) -> Activation:
    """The activation, with each ending noted; it must be told under the operation's own lock."""

    def note(ending: Ending) -> None:
        holder = find_holder(lab.directory.lock)
        assert holder is not None
        assert holder.operation == ending.operation
        endings.append(ending)

    return replace(lab.activation, close=note)


def once(endings: list[Ending]) -> Ending:
    (ending,) = endings
    return ending


def stop(activation: Activation) -> None:
    with pytest.raises(Stopped):
        replace(activation, stop=lambda: True).activate(FIRST)


def refuse(activation: Activation) -> None:
    with pytest.raises(FlexError):
        activation.rollback()


@pytest.mark.parametrize(
    ("operate", "told"),
    [
        (lambda it: it.activate(FIRST), ("activate", "confirmed", FIRST.id, "ok")),
        (lambda it: it.activate(Generation()), ("activate", "unchanged", "empty", "ok")),
        (stop, ("activate", "failed", FIRST.id, "generation/stopped")),
        (refuse, ("rollback", "failed", "", "generation/no-previous")),
    ],
)
def test_a_machine_that_is_no_node_yet(
    lab: Lab, operate: Callable[[Activation], object], told: tuple[str, ...]
) -> None:
    endings: list[Ending] = []
    operate(watched(lab, endings))
    ending = once(endings)
    code = ending.failure.code if ending.failure else "ok"
    assert (ending.operation, ending.result, ending.generation, code) == told


@pytest.mark.parametrize(
    ("operate", "told"),
    [
        (lambda it: it.activate(FIRST), ("unchanged", FIRST.id, "ok")),
        (lambda it: it.activate(Generation()), ("left", "empty", "ok")),
        (lambda it: it.activate(NEXT), ("rolled-back", NEXT.id, "node/not-ready")),
    ],
)
def test_a_node(node: Lab, operate: Callable[[Activation], object], told: tuple[str, ...]) -> None:
    endings: list[Ending] = []
    node.verify.failing.add("1.35.0")
    operate(watched(node, endings))
    ending = once(endings)
    assert (ending.result, ending.generation, ending.failure.code if ending.failure else "ok") == told


def test_its_time_is_what_passed_and_not_what_the_calendar_says(lab: Lab) -> None:
    endings: list[Ending] = []
    lab.observer = lambda moment, _name, _key: lab.clock.sleep(1) if moment is Moment.BEGIN else None
    lab.activation.activate(FIRST)
    activation = watched(lab, endings)
    started = lab.clock.now()
    activation.activate(FIRST)
    ending = once(endings)
    assert (ending.started, ending.seconds) == (started, sum(each.seconds for each in ending.timings) + 1)
    assert [each.name for each in ending.timings] == [Name.PLAN]


def test_who_finds_another_at_work_has_no_word_in_it(lab: Lab) -> None:
    """What is written down is about the operation that runs."""
    endings: list[Ending] = []

    def meet(_ending: Ending) -> None:
        with pytest.raises(FlexError) as caught:
            watched(lab, endings).activate(FIRST)
        assert caught.value.code == "state/busy"

    replace(lab.activation, close=meet).activate(FIRST)
    assert endings == []


@pytest.mark.parametrize("error", [RuntimeError("token=hunter2"), KeyboardInterrupt()])
def test_what_nobody_foresaw_ends_it_too_and_is_not_quoted(lab: Lab, error: BaseException) -> None:
    endings: list[Ending] = []

    def fail(_moment: str) -> None:
        raise error

    lab.host.hook = fail
    with pytest.raises(type(error)):
        watched(lab, endings).activate(FIRST)
    ending = once(endings)
    assert ending.failure is not None
    assert (ending.result, ending.failure.code) == ("failed", "generation/cut-off")
    assert "hunter2" not in ending.failure.message


def test_what_was_cut_off_has_an_end_once_it_was_gone_on_with(lab: Lab) -> None:
    endings: list[Ending] = []

    def die(moment: str) -> None:
        if "kubelet.service" in moment:
            raise Crash

    lab.host.hook = die
    with pytest.raises(Crash):
        watched(lab, endings).activate(FIRST)
    assert endings == []
    lab.host.hook = lambda _moment: None
    watched(lab, endings).prepare_boot()
    watched(lab, endings).recover()
    told = [(ending.operation, ending.result, ending.generation) for ending in endings]
    assert told == [("recover at boot", "unconfirmed", FIRST.id), ("recover", "confirmed", FIRST.id)]
