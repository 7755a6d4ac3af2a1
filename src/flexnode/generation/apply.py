"""Walking through the steps on the machine: the only code that changes it.

Each resource is looked at again right before its change, since earlier ones change what it sees. What was
there is in the ledger and the change in the journal, both on disk, before anything of it happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from flexnode.clock import Clock
from flexnode.errors import FlexError, GenerationError
from flexnode.generation.deadline import Deadline
from flexnode.generation.journal import Changing, Done, Journal, Record, Restarted
from flexnode.generation.judge import Machine
from flexnode.generation.ledger import Ledger
from flexnode.generation.owed import Owed, starts_unit, stops_unit
from flexnode.generation.sequence import PATH_KINDS, Step, find_turns
from flexnode.generation.steps import Name, Steps
from flexnode.resources import Change
from flexnode.resources.state import Absent, Owned
from flexnode.retry import retry

DELAYS = (1.0, 2.0, 4.0, 8.0)
"""How long a step that fails for the moment is waited for, in seconds: a runtime takes some to answer."""


class Stopped(GenerationError):
    """The operation was asked to end, and did so where it can go on later."""

    def __init__(self) -> None:
        super().__init__(
            "the operation was interrupted; nothing is half done",
            code="generation/stopped",
            transient=True,
            hint="run the same command again, or let the agent go on",
        )


@dataclass(kw_only=True, slots=True)
class Applied:
    """What was done, as it is told afterwards."""

    changes: list[Change] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)
    kept: dict[str, None] = field(default_factory=dict)
    reservations: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class Records:
    """Where it is written down, before and while it happens."""

    journal: Journal
    ledger: Ledger
    steps: Steps
    deadline: Deadline

    def write(self, record: Record) -> None:
        with self.steps.step(Name.JOURNAL, type(record).__name__.lower()):
            self.journal.append(record)

    @property
    def at(self) -> float:
        return round(self.deadline.elapsed, 3)


@dataclass(kw_only=True, slots=True)
class Applier:
    """One walk. `derivable` are the keys whose earlier state the previous generation tells, so that no bytes
    need be kept for the way back; None if there is none.

    `forgiving`: what fails is noted as a reservation, and the rest goes on.
    """

    machine: Machine
    records: Records
    clock: Clock
    stop: Callable[[], bool]
    applied: Applied
    derivable: frozenset[str] | None = None
    forgiving: bool = False
    _owed: Owed = field(default_factory=Owed)
    _steps: Sequence[Step] = ()
    _seen: Machine | None = None  # as it is since the last change

    def run(self, steps: Sequence[Step]) -> None:
        """Bring every resource to its goal, and let each unit see it once all that it reads is there."""
        self._owed = self._outstanding(steps)
        self._steps = steps
        turns = find_turns(steps)
        for number, step in enumerate(steps):
            self._do(partial(self._bring, step))
            for unit in turns.get(number, ()):
                self._do(partial(self._take_turn, unit))
        for unit in self._owed.units:
            self._do(partial(self._take_turn, unit))
        self._do(self._tell_manager)

    def run_files(self, steps: Iterable[Step]) -> None:
        """Only what needs nothing that runs: for the moment before the machine's services start."""
        for step in steps:
            if step.resource.kind in PATH_KINDS or step.resource.kind == "kubeconfig":
                self._do(partial(self._bring, step))

    def _do(self, action: Callable[[], None]) -> None:
        self._require_time()
        try:
            retry(
                action, delays=DELAYS, clock=self.clock, on_retry=lambda _error, _pause: self._require_time()
            )
        except Stopped:
            raise
        except FlexError as error:
            if self.stop():
                # Ctrl-C ends the programs that we run, too: what failed just now tells nothing of the target.
                raise Stopped from error
            if not self.forgiving:
                raise
            self.applied.reservations.append(error.message)

    def _require_time(self) -> None:
        if self.stop():
            raise Stopped
        if self.records.deadline.passed:
            raise GenerationError(
                "the time for the operation ran out before everything was in place",
                code="generation/out-of-time",
                transient=True,
                hint="see which step took so long in the timings of `aks-flex-node status`",
            )

    def _bring(self, step: Step) -> None:
        """Look at the resource, and change it if it is not as it should be."""
        done = self.records.journal.done() if step.returning else {}
        if step.key not in done:
            self._change(step)
        elif done[step.key] != self.machine.boot:
            self._repeat(step)

    def _repeat(self, step: Step) -> None:
        """A kubelet that started with the machine may have made its Node and its pods again.

        If it cannot have, for want of credentials, then neither can they be removed again.
        """
        try:
            self._change(step)
        except FlexError as error:
            self.applied.warnings.append(
                f"{step.key} had left before the machine was booted: {error.message}"
            )

    def _change(self, step: Step) -> None:
        self._seen = self._seen or self.machine.at_a_glance(self._steps)
        move = self._seen.judge(step, self.records.journal.begun())
        if move.kept:
            self.applied.kept[move.kept] = None
        if move.change is None:
            return
        self._seen = None
        with self.records.steps.step(Name.APPLY, move.change.key):
            if not step.returning:
                self._remember(step, move.change)
            self.records.write(Changing(change=move.change, at=self.records.at))
            self._owed.add(move.change)
            self.machine.put(move.change)
            if isinstance(step.goal, Owned):
                self.records.write(Done(key=step.key, boot=self.machine.boot, at=self.records.at))
        self.applied.changes.append(move.change)
        if starts_unit(move.change) or stops_unit(move.change):
            self._settle(move.change.name)

    def _remember(self, step: Step, change: Change) -> None:
        """Keep what the change overwrites, before the change."""
        ledger = self.records.ledger
        original = (ledger.find(step.heir_of) if step.heir_of else None) or change.before
        if ledger.lacks(change.key, original):
            self.machine.preserve(change)
            with self.records.steps.step(Name.LEDGER, change.key):
                ledger.record(change.key, original)
        elif self.derivable is not None and change.key not in self.derivable:
            self.machine.preserve(change)

    def _take_turn(self, unit: str) -> None:
        """Let a unit see what changed, if it runs; one that does not will see it when it starts."""
        if not self._owed.has(unit):
            return
        units = self.machine.host.units
        info = units.find(unit)
        if info.active:
            self._seen = None
            with self.records.steps.step(Name.RESTART, unit):
                if info.needs_reload:
                    units.reload_manager()
                if self._owed.needs_restart(unit):
                    units.restart(unit)
                else:
                    units.reload(unit)
            self.applied.restarts.append(unit)
        self._settle(unit)

    def _settle(self, unit: str) -> None:
        if self._owed.has(unit):
            self.records.write(Restarted(unit=unit, at=self.records.at))
            self._owed.settle(unit)

    def _tell_manager(self) -> None:
        """systemd must not go on with what it remembers of units whose files are gone."""
        if self._owed.find_stale(self.machine.host.units):
            self.machine.host.units.reload_manager()

    def _outstanding(self, steps: Sequence[Step]) -> Owed:
        """What an earlier attempt of this operation changed, and did not live to let units see."""
        owed = Owed(self.records.journal.owed())
        if self.records.journal.warning:
            # Nobody knows which changes stood in the records that are lost: all of them might have.
            for step in steps:
                owed.add(_suspected(step))
        return owed


def _suspected(step: Step) -> Change:
    return Change(
        key=step.key,
        before=Absent(),
        after=Absent(),
        restarts=step.resource.restarts,
        reloads=step.resource.reloads,
    )
