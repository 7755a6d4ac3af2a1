"""What is waited for, and what a person has to hear of at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.errors import FlexError
from flexnode.flows.persistence import persist
from flexnode.flows.workplace import Workplace
from flexnode.generation import StateDirectory, Stopped
from flexnode.host.fake import FakeHost
from unit.flows.samples import Books, Timeline


class Attempts:
    """Fails with one error after the other, then succeeds."""

    def __init__(self, *errors: FlexError) -> None:
        self.errors = list(errors)
        self.made = 0

    def __call__(self) -> str:
        self.made += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def passing(code: str = "kube/unreachable", retry_after: float | None = None) -> FlexError:
    return FlexError("nobody answers", code=code, transient=True, retry_after=retry_after)


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    return Workplace(
        host=FakeHost(), clock=Timeline(), directory=StateDirectory(root=tmp_path), progress=Books()
    )


def test_what_passes_is_waited_for_and_said(workplace: Workplace) -> None:
    assert persist(Attempts(passing(), passing()), seconds=60, workplace=workplace) == "done"
    assert isinstance(workplace.progress, Books)
    assert "nobody answers (kube/unreachable); trying again in" in "\n".join(workplace.progress.told)


@pytest.mark.parametrize(
    "code", ["state/busy", "artifact/no-space", "state/no-space", "preflight/disk-space"]
)
def test_what_somebody_has_to_do_something_about_is_said_now(workplace: Workplace, code: str) -> None:
    with pytest.raises(FlexError) as caught:
        persist(Attempts(passing(code)), seconds=900, workplace=workplace)
    assert caught.value.code == code
    assert workplace.clock.monotonic() == 0


def test_an_operation_that_was_asked_to_stop_is_not_begun_again(workplace: Workplace) -> None:
    attempts = Attempts(Stopped())
    with pytest.raises(Stopped):
        persist(attempts, seconds=900, workplace=workplace)
    assert attempts.made == 1


def test_no_pause_is_made_that_would_end_too_late(workplace: Workplace) -> None:
    with pytest.raises(FlexError):
        persist(Attempts(passing(retry_after=100)), seconds=60, workplace=workplace)
    assert workplace.clock.monotonic() == 0


def test_it_ends_with_the_last_failure_when_the_time_is_over(workplace: Workplace) -> None:
    endless = Attempts(*(passing() for _ in range(1000)))
    with pytest.raises(FlexError) as caught:
        persist(endless, seconds=900, workplace=workplace)
    assert caught.value.code == "kube/unreachable"
    assert 780 < workplace.clock.monotonic() <= 900
    assert 10 < endless.made < 30
