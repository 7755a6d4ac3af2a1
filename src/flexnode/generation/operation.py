"""One operation from its first record to its end: forward to a generation, and back if it does not work."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from flexnode.errors import FlexError, GenerationError, Kind
from flexnode.generation import journal as record
from flexnode.generation.apply import Applied, Applier, Records, Stopped
from flexnode.generation.collect import collect, forget
from flexnode.generation.course import Course
from flexnode.generation.deadline import Deadline
from flexnode.generation.generation import EMPTY_ID, Generation
from flexnode.generation.history import History
from flexnode.generation.node_state import Desired, NodeState, Rejection
from flexnode.generation.order import Order, Tools
from flexnode.generation.outcome import Failure, Outcome, Result
from flexnode.generation.plan import Plan, largest_disruption, make_plan
from flexnode.generation.recover import next_attempt
from flexnode.generation.sequence import Step, order_steps
from flexnode.generation.stage import stage
from flexnode.generation.steps import Name, Steps
from flexnode.resources import Disruption

LEAST_TIME_BACK = 600.0
"""Seconds. However late it is for the target, the way back has its own time."""


@dataclass(kw_only=True, slots=True)
class Operation:
    """Whoever runs it holds the lock."""

    tools: Tools
    course: Course
    history: History
    applied: Applied = field(default_factory=Applied)

    @property
    def steps(self) -> Steps:
        return self.course.steps

    def forward(self, order: Order) -> Outcome:
        """Bring the machine to the target, or back; what fails before anything changed is raised."""
        target, identity = order.target, order.target.id
        leaving = identity == EMPTY_ID
        self.course.about = identity
        self.history.require_way_to(target)
        self._refuse_rejected(identity, order)
        if leaving:
            self._save_state(desired=Desired.LEFT)
        settled = self._is_settled(identity)
        plan = self._plan(target, identity) if settled or order.before else None
        if settled and plan is not None and not plan.changes:
            if not leaving:
                # Other inputs can lead to the same node; going back has to know which ones are left behind.
                self._save_state(desired=Desired.JOINED, inputs=order.inputs)
            return self.release(target, order.seconds)
        if order.before and plan is not None and plan.changes:
            order.before()
        with self.steps.step(Name.STAGE, identity):
            stage(target, self.tools.contents, self.tools.fetch, known=self.history.generations)
        if not leaving:
            if plan is None or not settled:
                plan = self._plan(target, identity)  # a refusal comes before anything changed
            self._save_state(desired=Desired.JOINED)
            with self.steps.step(Name.STATE, identity):
                self.tools.directory.save_generation(target, identity)
            if plan.disruption >= Disruption.DRAIN:
                self._drain()
        opened = record.Opened(
            target=identity,
            previous=self.history.current.id if self.history.current else None,
            operation=order.name,
            attempt=next_attempt(self.history.journal, identity),
            remaining=record.NO_LIMIT if leaving else order.seconds,
            inputs=order.inputs,
            rejects=order.rejects,
        )
        return self.attempt(target, opened, forgiving=order.forgiving and leaving)

    def attempt(self, target: Generation, opened: record.Opened, *, forgiving: bool = False) -> Outcome:
        """Apply, verify and confirm `target`; it is staged."""
        self.course.about = opened.target
        self.history.note(target)
        records = self._open(opened)
        try:
            self._apply(target, records, forgiving=forgiving)
            # A machine that leaves is not taken down for it: its user boots it when that suits.
            boots = opened.target != EMPTY_ID and self._owes_boot()
            if opened.target != EMPTY_ID and not boots:
                self._verify(target, opened.target, records)
        except Stopped:
            records.write(record.Stopped(at=records.at))
            raise
        except FlexError as error:
            return self._failed(opened, error)
        if boots:
            return self._reboot(opened.target, records)
        if opened.target == EMPTY_ID and self.history.obscure:
            self.applied.reservations.append(self.history.obscure)
        if self.applied.reservations:
            # Of what was to be undone a part is left, and the ledger with it: the journal stays open.
            return self._outcome(Result.DEGRADED, opened.target)
        return self.confirm(target, opened)

    def resume(self, target: Generation, opened: record.Opened) -> Outcome:
        """Go on with an attempt that was cut off; a node that was drained for it has to be empty still."""
        with self.steps.step(Name.STAGE, opened.target):
            self._stage_again(target)
        if opened.target != EMPTY_ID and self._was_drained(target):
            self._drain()
        return self.attempt(target, opened)

    def release(self, target: Generation, seconds: float) -> Outcome:
        """The machine is as the target wants it. A cordon that is left over ends, if the node works."""
        identity = target.id
        if self.history.state.cordoned:
            with self.steps.step(Name.VERIFY, identity):
                self.tools.verify(target, Deadline(self.tools.clock, seconds))
            self._uncordon(target)
        return self._outcome(Result.UNCHANGED, identity)

    def confirm(self, target: Generation, opened: record.Opened) -> Outcome:
        """Only now is the target current."""
        leaving = opened.target == EMPTY_ID
        with self.steps.step(Name.CONFIRM, opened.target):
            self._store_state(NodeState(desired=Desired.LEFT) if leaving else self._confirmed_state(opened))
            self._write(record.Confirmed())
        self.tidy()
        if leaving:
            # It is gone; whether all is as it was before, nobody can promise.
            self.applied.reservations += self.history.losses
        return self._outcome(Result.LEFT if leaving else Result.CONFIRMED, opened.target)

    def tidy(self) -> None:
        """Let pods come if the node works, and remove what is not needed any more, the journal last."""
        current = self.history.find(self.history.state.current) if self.history.state.current else None
        if self.history.journal.has(record.Verified) and current is not None:
            try:
                self._uncordon(current)
            except FlexError as error:
                self.applied.reservations.append(f"the node is still cordoned: {error.message}")
        try:
            with self.steps.step(Name.COLLECT):
                if self.history.state.current is None and self.history.state.desired is Desired.LEFT:
                    forget(self.tools.directory, self.tools.contents, self.tools.ledger)
                else:
                    collect(self.tools.directory, self.tools.contents, self.tools.ledger, self._kept())
        except FlexError as error:
            self.applied.reservations.append(f"not everything could be tidied up: {error.message}")
        with self.steps.step(Name.JOURNAL, "close"):
            self.history.journal.close()

    def go_back(self, opened: record.Opened, failure: Failure) -> Outcome:
        """Return to the generation that is current, without any network; the other one is not tried again."""
        previous, self.course.about = self.history.current, opened.target
        if previous is None:
            raise GenerationError(
                "there is no generation to go back to",
                code="generation/no-previous",
                hint="run bootstrap again",
            )
        self.reject(opened, failure.message)
        records = self._open(self.way_back(opened, failure))
        try:
            with self.steps.step(Name.ROLL_BACK, previous.id):
                self._stage_again(previous)
                self._apply(previous, records, back=True)
        except Stopped:
            records.write(record.Stopped(at=records.at))
            raise
        except FlexError as error:
            # The journal stays open: the next start goes on from here.
            self.applied.reservations.append(f"going back failed too: {error.message}")
            return self._outcome(Result.DEGRADED, opened.target, failure)
        if self._owes_boot():
            return self._reboot(opened.target, records)
        result = Result.ROLLED_BACK
        try:
            self._verify(previous, previous.id, records)
        except Stopped:
            records.write(record.Stopped(at=records.at))
            raise
        except FlexError as error:
            self.applied.reservations.append(f"the previous generation does not work either: {error.message}")
            result = Result.DEGRADED
        records.write(record.RolledBack(at=records.at))
        self.tidy()
        return self._outcome(result, opened.target, failure)

    def reject(self, opened: record.Opened, reason: str) -> None:
        """Remember that a generation did not work, until its inputs change or a person insists."""
        rejection = Rejection(reason=reason, inputs=opened.inputs, when=self.tools.clock.now())
        self._store_state(self.history.state.with_rejection(opened.target, rejection))

    def way_back(self, opened: record.Opened, failure: Failure) -> record.Opened:
        """The record that the way back begins with."""
        current = self.history.current
        return record.Opened(
            target=current.id if current else EMPTY_ID,
            previous=opened.target,
            operation=opened.operation,
            remaining=max(opened.remaining, LEAST_TIME_BACK),
            inputs=opened.inputs,
            reason=failure.message,
            returns=True,
        )

    def bring_files(self, target: Generation, opened: record.Opened) -> Outcome:
        """As much of an attempt as is possible before the machine's services start."""
        records = self._open(opened)
        with self.steps.step(Name.STAGE, opened.target):
            self._stage_again(target)
        applier = self._applier(records, forgiving=True)
        applier.run_files(self._order(target, back=opened.returns))
        records.write(record.Stopped(at=records.at))
        return self._outcome(Result.UNCONFIRMED, opened.target)

    def _drain(self) -> None:
        """Of the generation that runs: what it is changed to has no pods yet, and a first join has none."""
        current = self.history.current
        if current is None or not current.joins:
            return
        with self.steps.step(Name.DRAIN, current.id):
            # Known before it is so: after a crash nobody could tell it from a person's cordon.
            self.tools.evacuation.drain(current, lambda: self._save_state(cordoned=True))

    def _was_drained(self, target: Generation) -> bool:
        """For the operation that is gone on with; a machine that may be half changed is not asked."""
        if largest_disruption(self.history.journal.changes()) >= Disruption.DRAIN:
            return True
        return any(step.drains for step in self._order(target))

    def _uncordon(self, generation: Generation) -> None:
        if not self.history.state.cordoned:
            return
        with self.steps.step(Name.UNCORDON, generation.id):
            self.tools.evacuation.uncordon(generation)
            self._save_state(cordoned=False)

    def _owes_boot(self) -> bool:
        return self.history.journal.owes_boot(self.tools.machine.boot)

    def _reboot(self, identity: str, records: Records) -> Outcome:
        """All is in place. The journal stays open, and tells that this boot is owed: the next one goes on."""
        records.write(record.Stopped(at=records.at))
        try:
            self._drain()  # again: somebody may have uncordoned it since
            with self.steps.step(Name.REBOOT, identity):
                self.tools.machine.host.units.reboot()
        except Stopped:
            raise
        except FlexError as error:
            joined = self.history.current is not None and self.history.current.joins
            result = Result.DEGRADED if joined else Result.UNCONFIRMED
            return self._outcome(result, identity, Failure.of(error))
        failure = Failure(
            code="generation/rebooting",
            kind=Kind.TRANSIENT,
            message="the machine reboots, since a part of the change takes effect only so",
            hint="wait until it is up again: the agent goes on by itself, or `aks-flex-node recover --now`",
        )
        return self._outcome(Result.REBOOTING, identity, failure)

    def _is_settled(self, identity: str) -> bool:
        """Whether the target is what the machine was last confirmed to be."""
        if self.history.journal.open or self.history.vague:
            return False
        if identity == EMPTY_ID:
            return self.history.state.current is None and not self.tools.ledger.touched()
        return self.history.state.current == identity

    def _plan(self, target: Generation, identity: str) -> Plan:
        with self.steps.step(Name.PLAN, identity):
            past = self.history.past(target)
            return make_plan(target, past, self.tools.machine, self.history.journal)

    def _refuse_rejected(self, identity: str, order: Order) -> None:
        rejection = self.history.state.rejected.get(identity)
        if rejection is None or order.retry or rejection.inputs != order.inputs:
            return
        raise GenerationError(
            f"generation {identity} was rejected on {rejection.when:%Y-%m-%d %H:%M} UTC: {rejection.reason}",
            code="generation/rejected",
            hint="change the configuration, or insist: `aks-flex-node bootstrap --retry`",
        )

    def _open(self, opened: record.Opened) -> Records:
        endless = opened.remaining == record.NO_LIMIT
        deadline = (
            Deadline.never(self.tools.clock) if endless else Deadline(self.tools.clock, opened.remaining)
        )
        self._write(msgspec.structs.replace(opened, boot=self.tools.machine.boot))
        return Records(
            journal=self.history.journal, ledger=self.tools.ledger, steps=self.steps, deadline=deadline
        )

    def _apply(
        self, target: Generation, records: Records, *, back: bool = False, forgiving: bool = False
    ) -> None:
        self._applier(records, forgiving=forgiving).run(self._order(target, back=back))

    def _order(self, target: Generation, *, back: bool = False) -> tuple[Step, ...]:
        past = self.history.past(target, back=back)
        return order_steps(target, past, expired=self.tools.machine.exists)

    def _applier(self, records: Records, *, forgiving: bool) -> Applier:
        current = self.history.current
        return Applier(
            machine=self.tools.machine,
            records=records,
            clock=self.tools.clock,
            stop=self.tools.stop,
            applied=self.applied,
            derivable=frozenset(each.key for each in current.resources) if current else None,
            forgiving=forgiving,
        )

    def _verify(self, target: Generation, identity: str, records: Records) -> None:
        with self.steps.step(Name.VERIFY, identity):
            self.tools.verify(target, records.deadline)
        if any(each.until for each in target.resources):
            # What was wanted only until the machine had joined: it has by now.
            self._apply(target, records)
        records.write(record.Verified(at=records.at))

    def _failed(self, opened: record.Opened, error: FlexError) -> Outcome:
        failure, current = Failure.of(error), self.history.current
        if opened.target == EMPTY_ID:
            raise error  # there is nothing to go back to; the next run goes on
        if self.history.has_way_back(opened.target):
            return self.go_back(opened, failure)
        # The journal stays open, so that it is gone on with: a first join, or a repair of what is current.
        repair = current is not None and current.id == opened.target
        return self._outcome(Result.DEGRADED if repair else Result.UNCONFIRMED, opened.target, failure)

    def _stage_again(self, target: Generation) -> None:
        """Everything has been here since the generation was first staged; what rotted is fetched again."""
        try:
            stage(target, self.tools.contents, self.tools.fetch, known=(target,))
        except FlexError as error:
            # Most of the machine may need none of it, so that going on is better than standing still.
            self.applied.reservations.append(error.message)

    def _confirmed_state(self, opened: record.Opened) -> NodeState:
        state = self.history.state
        confirmed = state.with_confirmed(opened.target, opened.inputs)
        if not opened.rejects or state.current in (None, opened.target):
            return confirmed
        reason = "a person went back to the generation before it"
        rejection = Rejection(reason=reason, inputs=state.inputs, when=self.tools.clock.now())
        return confirmed.with_rejection(str(state.current), rejection)

    def _kept(self) -> list[Generation]:
        wanted = (self.history.state.current, self.history.state.previous)
        found = (self.history.find(each) for each in wanted if each)
        return [each for each in found if each is not None]

    def _write(self, entry: record.Record) -> None:
        with self.steps.step(Name.JOURNAL, type(entry).__name__.lower()):
            self.history.journal.append(entry)

    def _save_state(self, **changes: object) -> None:
        changed = msgspec.structs.replace(self.history.state, **changes)
        if changed != self.history.state:
            self._store_state(changed)

    def _store_state(self, state: NodeState) -> None:
        with self.steps.step(Name.STATE, "state"):
            self.tools.directory.save_state(state)
        self.history.state = state

    def _other_losses(self) -> tuple[str, ...]:
        return tuple(each for each in self.history.losses if each not in self.applied.reservations)

    def _outcome(self, result: Result, identity: str, failure: Failure | None = None) -> Outcome:
        current = self.history.state.current
        found = self.history.find(current) if current else None
        self.course.outcome = Outcome(
            result=result,
            operation=self.course.name,
            generation=identity,
            current=current,
            joined=found is not None and found.joins,
            changes=tuple(self.applied.changes),
            restarts=tuple(self.applied.restarts),
            disruption=largest_disruption(self.applied.changes),
            kept=tuple(self.applied.kept),
            reservations=tuple(self.applied.reservations),
            warnings=(*self.history.warnings, *self._other_losses(), *self.applied.warnings),
            failure=failure,
            timings=tuple(self.steps.timings),
        )
        return self.course.outcome
