"""How an operation went, told at its very end, whatever ended it short of a kill."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from flexnode.clock import Clock
from flexnode.errors import FlexError, Kind
from flexnode.generation.outcome import Failure, Outcome, Result
from flexnode.generation.steps import Observer, Steps, Timing

FAILED = "failed"
"""The result of an operation that raised what ended it."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """The last word on an operation, whether it answered an outcome or raised a failure."""

    operation: str
    started: datetime
    seconds: float
    result: str = FAILED  # or a `Result`
    generation: str = ""
    failure: Failure | None = None
    timings: tuple[Timing, ...] = ()


Closing = Callable[[Ending], None]
"""Called while the machine is still locked: what it writes, no other operation writes over."""


def close_nothing(_ending: Ending) -> None:
    """For whoever keeps no records."""


@dataclass(kw_only=True, slots=True)
class Course:
    """What an operation notes about itself on its way."""

    name: str
    clock: Clock
    observer: Observer
    steps: Steps = field(init=False)
    about: str = ""  # the generation that it is bringing the machine to
    outcome: Outcome | None = None
    _started: datetime = field(init=False)
    _begun: float = field(init=False)

    def __post_init__(self) -> None:
        self.steps = Steps(self.observer, self.clock)
        self._started = self.clock.now()
        self._begun = self.clock.monotonic()

    def end(self, failure: Failure | None = None) -> Ending:
        """`failure`: what was raised."""
        outcome = None if failure else self.outcome
        return Ending(
            operation=self.name,
            started=self._started,
            # Not the difference of two dates: an operation that sets up time synchronisation may see a jump.
            seconds=round(self.clock.monotonic() - self._begun, 3),
            result=FAILED if failure else outcome.result if outcome else Result.UNCHANGED,
            generation=outcome.generation if outcome else self.about,
            failure=outcome.failure if outcome else failure,
            timings=tuple(self.steps.timings),
        )


@contextmanager
def closed(course: Course, close: Closing) -> Iterator[None]:
    """Call `close` at the end of the block, whatever ended it."""
    try:
        yield
    except FlexError as error:
        close(course.end(Failure.of(error)))
        raise
    except (Exception, KeyboardInterrupt) as error:
        close(course.end(_cut_off(error)))
        raise
    close(course.end())


def _cut_off(error: BaseException) -> Failure:
    return Failure(
        code="generation/cut-off",
        kind=Kind.TRANSIENT,
        # What it says is told by whoever catches it, with all that is secret taken out.
        message=f"the operation was cut off: {type(error).__name__}",
        hint="run the same command again, or let the agent go on",
    )
