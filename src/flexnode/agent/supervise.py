"""What to do next, as a function of what is known. No I/O, no clock: the time is one of its arguments.

Failures rest in one place, the `Pause`: a transient one ends by itself, later each time; a terminal one only
when something that was read changes, or a person insists.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from flexnode.errors import Kind
from flexnode.generation.node_state import Desired
from flexnode.generation.outcome import Failure

FIRST_DELAY = 10.0
LONGEST_DELAY = 300.0
NEVER = float("inf")

SPREAD = 0.2
"""Nodes that failed together shall not come back together."""

REPAIRS, REPAIR_WINDOW = 5, 3600.0
"""Who changes the same things again and again is stronger than the agent; their fight would harm the node."""

SETTLING = 2.0
"""Seconds after a touch until somebody looks: who writes one file often writes another."""

QUIET = 10.0
"""Seconds between two looks at everything, however much is written."""


class Task(StrEnum):
    """The one thing to do now."""

    IDLE = "idle"  # the user sent the machine away from its cluster
    WAIT = "wait"
    RECOVER = "recover"  # end what was cut off
    APPLY = "apply"  # bring the machine to its configuration
    CHECK = "check"  # compare all of it with the current generation
    REPAIR = "repair"  # activate the current generation again
    RELEASE = "release"  # let pods come again to a node that was cordoned for a change


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """What is known now. `config` is the digest of a valid configuration, empty if it is not valid."""

    desired: Desired | None = None
    current: str | None = None
    prepared: bool = False  # `current` makes it no node: that takes a configuration that names a cluster
    unfinished: bool = False  # an operation was cut off, or failed and can be gone on with
    busy: bool = False  # somebody else's operation runs
    config: str = ""
    stamp: str = ""
    touched: float | None = None  # when a managed file was written to, or a managed unit stopped
    cordoned: bool = False  # by the product itself
    repairs: bool = True  # whether the policy is to repair drift
    check_interval: float = 3600.0

    @property
    def joined(self) -> bool:
        return self.current is not None and not self.prepared

    @property
    def joining(self) -> bool:
        """Whether what comes next is the first join, which has nothing to go back to."""
        return not self.joined and self.desired is not Desired.LEFT


@dataclass(frozen=True, kw_only=True, slots=True)
class Pause:
    """Why nothing is tried, and until when. `until` None: until `stamp` is another one."""

    failure: Failure
    stamp: str
    failures: int = 1
    until: float | None = None

    def holds(self, stamp: str, now: float) -> bool:
        return self.stamp == stamp and (self.until is None or now < self.until)


@dataclass(frozen=True, kw_only=True, slots=True)
class Mind:
    """What the agent remembers of its own doing. Times are those of the clock that does not jump."""

    generation: str = ""
    config: str = ""  # the digest of the configuration that `generation` was activated for
    pause: Pause | None = None  # of operations
    repair_pause: Pause | None = None
    repairs: tuple[float, ...] = ()
    needs: str = ""  # what the change to `needs_config` costs, if its pods have to go for it: drain, reboot
    needs_config: str = ""
    checked: float | None = None
    examined: float | None = None  # when every file was last read again, or first looked at by this process
    drift: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """`due`: when to choose again, at the latest, where nothing changes before."""

    task: Task
    due: float = NEVER


def choose(situation: Situation, mind: Mind, now: float) -> Choice:
    """The most urgent of what may be done."""
    if situation.busy:
        return Choice(task=Task.WAIT)
    if situation.desired is Desired.LEFT and not situation.unfinished:
        return Choice(task=Task.IDLE)
    pause = mind.pause
    blocked = pause is not None and pause.holds(situation.stamp, now)
    if not blocked:
        if situation.unfinished:
            return Choice(task=_go_on(situation))
        if wants_change(situation, mind):
            return Choice(task=Task.APPLY)
    due = pause.until if blocked and pause is not None and pause.until is not None else NEVER
    if not situation.joined or situation.unfinished:
        return Choice(task=Task.WAIT, due=due)
    if situation.cordoned and due == NEVER:
        # What it was cordoned for is not tried again by itself.
        release = _release(situation, mind, now)
        if release.task is Task.RELEASE:
            return release
        due = release.due
    kept = keep(situation, mind, now)
    return Choice(task=kept.task, due=min(due, kept.due))


def _release(situation: Situation, mind: Mind, now: float) -> Choice:
    pause = mind.repair_pause
    if pause is None or not pause.holds(situation.stamp, now):
        return Choice(task=Task.RELEASE)
    return Choice(task=Task.WAIT, due=NEVER if pause.until is None else pause.until)


def keep(situation: Situation, mind: Mind, now: float) -> Choice:
    """What a node that is in place needs to stay as it is."""
    exhausted = len(recent(mind.repairs, now, REPAIR_WINDOW)) >= REPAIRS
    next_check = now if mind.checked is None else next_examination(situation, mind)
    if situation.touched is not None and mind.checked is not None:
        rest = LONGEST_DELAY if exhausted else QUIET
        next_check = min(next_check, max(situation.touched + SETTLING, mind.checked + rest))
    if next_check <= now:
        return Choice(task=Task.CHECK)
    if not mind.drift or not situation.repairs:
        return Choice(task=Task.WAIT, due=next_check)
    pause = mind.repair_pause
    if pause is not None and pause.holds(situation.stamp, now):
        return Choice(task=Task.WAIT, due=min(next_check, NEVER if pause.until is None else pause.until))
    if exhausted:
        return Choice(task=Task.WAIT, due=min(next_check, mind.repairs[-REPAIRS] + REPAIR_WINDOW))
    return Choice(task=Task.REPAIR)


def next_examination(situation: Situation, mind: Mind) -> float:
    """When to read every file again, whatever is remembered of it; never before there was a first look."""
    since = mind.checked if mind.examined is None else mind.examined
    return NEVER if since is None else since + situation.check_interval


def wants_change(situation: Situation, mind: Mind) -> bool:
    """Whether the configuration asks for something that is not there."""
    if not situation.config:
        return False
    return not situation.joined or situation.config != mind.config


def recent(times: tuple[float, ...], now: float, window: float) -> tuple[float, ...]:
    return tuple(time for time in times if now - time < window)


def settle(mind: Mind, situation: Situation) -> Mind:
    """What is remembered of other inputs than these is over."""
    if mind.needs_config and mind.needs_config != situation.config:
        mind = replace(mind, needs="", needs_config="")
    if mind.pause is not None and mind.pause.stamp != situation.stamp:
        mind = replace(mind, pause=None)
    if mind.repair_pause is not None and mind.repair_pause.stamp != situation.stamp:
        mind = replace(mind, repair_pause=None)
    return mind


def rest(
    before: Pause | None,
    failure: Failure,
    *,
    stamp: str,
    now: float,
    chance: float,
    least: float = 0.0,
    final: bool = False,
) -> Pause:
    """The pause after a failure.

    `chance`: a random number between 0 and 1; `least`: the seconds that a server asked for; `final`: trying
    the same again cannot help, whatever kind of failure it was.
    """
    failures = before.failures + 1 if before else 1
    if final or failure.kind is Kind.TERMINAL:
        return Pause(failure=failure, stamp=stamp, failures=failures)
    delay = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(failures - 1, 10))
    until = now + max(delay * (1 + SPREAD * (2 * chance - 1)), least)
    return Pause(failure=failure, stamp=stamp, failures=failures, until=until)


def after_success(mind: Mind, *, generation: str, config: str) -> Mind:
    """The machine is `generation` now; the configuration that it was activated for is done with."""
    return replace(
        mind,
        generation=generation,
        config=config,
        pause=None,
        repair_pause=None,
        needs="",
        needs_config="",
        drift=(),
    )


def after_look(mind: Mind, now: float, *, examined: bool = False) -> Mind:
    """All of the machine was compared. The first look of a process may trust what others remember."""
    again = examined or mind.examined is None
    return replace(mind, checked=now, examined=now if again else mind.examined)


def after_repair(mind: Mind, now: float) -> Mind:
    return replace(mind, repairs=(*recent(mind.repairs, now, REPAIR_WINDOW), now))


def _go_on(situation: Situation) -> Task:
    """A first join is gone on with by bootstrap itself, which has the secrets that it takes."""
    return Task.APPLY if situation.joining and situation.config else Task.RECOVER
