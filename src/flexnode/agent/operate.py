"""Performing one task, and what of it is remembered. Whatever goes wrong makes a pause; the agent goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from flexnode.agent.doorbell import Bell
from flexnode.agent.herald import Herald
from flexnode.agent.inputs import Inputs, Reading
from flexnode.agent.pulse import Pulse
from flexnode.agent.supervise import (
    Mind,
    Pause,
    Situation,
    Task,
    after_look,
    after_repair,
    after_success,
    next_examination,
    rest,
)
from flexnode.agent.work import Work, give_memory_back
from flexnode.clock import Clock
from flexnode.errors import FlexError, Kind
from flexnode.flows.redact import clean_living
from flexnode.generation.apply import Stopped
from flexnode.generation.outcome import Failure, Outcome, Result
from flexnode.kube.events import Severity
from flexnode.model.spec import AgentSpec, NodeSpec
from flexnode.resources import Disruption
from flexnode.retry import RETRY_AFTER_CAP

REPAIR_SECONDS = 900.0
_BETWEEN_LOOKS = 2.0

_log = logging.getLogger(__name__)

_DONE = {
    Task.APPLY: ("ConfigurationApplied", "the configuration is in place"),
    Task.RECOVER: ("Recovered", "what was cut off is done"),
    Task.REPAIR: ("DriftRepaired", "what somebody changed is as it was"),
}
_UNMET: Mapping[Result | None, str] = {Result.ROLLED_BACK: "RolledBack", Result.REBOOTING: "Rebooting"}
_KEEPING = (Task.CHECK, Task.REPAIR, Task.RELEASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """What a task is about. `spec` is the last valid one: it may be that of an earlier reading."""

    situation: Situation
    reading: Reading
    spec: NodeSpec | None = None


@dataclass(kw_only=True)
class Interrupt:
    """The `stop` of an operation: asked between its steps.

    A first bootstrap has nothing to go back to and may wait for long: it ends when its inputs change, so that
    a person who corrects a mistake need not wait for the end of the attempt that it spoils.
    """

    bell: Bell
    inputs: Inputs
    pulse: Pulse
    clock: Clock
    first: bool = False
    _looked: float = float("-inf")

    def __call__(self) -> bool:
        self.pulse.beat()
        if self.bell.stop or not self.first:
            return self.bell.stop
        now = self.clock.monotonic()
        if now - self._looked < _BETWEEN_LOOKS:
            return self.bell.again
        self._looked = now
        return self.bell.again or self.inputs.stale


@dataclass(kw_only=True)
class Operator:
    """`chance`: a random number between 0 and 1, for the length of pauses."""

    work: Work
    interrupt: Interrupt
    pulse: Pulse
    clock: Clock
    herald: Herald
    chance: Callable[[], float]

    def perform(self, task: Task, case: Case, mind: Mind) -> Mind:
        """Do it. Asked to stop, it ends where the next process goes on."""
        if task is Task.REPAIR:
            mind = after_repair(mind, self.clock.monotonic())
        self.interrupt.first = case.situation.joining and task in (Task.APPLY, Task.RECOVER)
        try:
            with self.pulse.working():
                if task is Task.APPLY:
                    mind = self._foresee(case, mind)
                return self._do(task, case, mind)
        except Stopped as stopped:
            _log.info("%s", stopped.message)
            return mind
        except FlexError as error:
            least = min(error.retry_after or 0.0, RETRY_AFTER_CAP)
            return self._pause(task, case, mind, Failure.of(error), least=least)
        except Exception as defect:
            # One broken operation must not keep the rest of the node from being looked after.
            _log.exception("%s failed in a way that nobody foresaw", task)
            failure = Failure(
                code="agent/defect",
                kind=Kind.TRANSIENT,
                message=clean_living(f"{task} failed: {type(defect).__name__}: {defect}"),
                hint="this is a defect of aks-flex-node: please report it, with `aks-flex-node bundle`",
            )
            return self._pause(task, case, mind, failure)
        finally:
            give_memory_back()

    def _do(self, task: Task, case: Case, mind: Mind) -> Mind:
        if task is Task.CHECK:
            return self._check(case, mind)
        if task is Task.RECOVER:
            outcome = self.work.recover(case.spec)
            if outcome is None:
                return replace(mind, pause=None)
            # What it was about nobody but its own records knows: look again which configuration that was.
            known = mind.config if outcome.current == mind.generation else ""
            return self._take(task, outcome, case, mind, config=known)
        if task is Task.REPAIR:
            seconds = case.spec.agent.bootstrap_timeout if case.spec else REPAIR_SECONDS
            outcome = self.work.put_back(case.spec, seconds)
            return self._take(task, outcome, case, mind, config=mind.config)
        if task is Task.RELEASE:
            self.work.release(case.spec, (case.spec.agent if case.spec else AgentSpec()).verify_timeout)
            self._announce("Uncordoned", "the node works, and takes pods again", Severity.NORMAL)
            return replace(mind, repair_pause=None)
        if case.reading.resolved is None:
            return mind
        outcome = self.work.bootstrap(case.reading.resolved)
        return self._take(Task.APPLY, outcome, case, mind, config=case.reading.digest)

    def _foresee(self, case: Case, mind: Mind) -> Mind:
        """Say once what a change costs, before pods have to go for it."""
        reading = case.reading
        if reading.resolved is None or not case.situation.joined or mind.needs_config == reading.digest:
            return mind
        cost = self.work.plan(reading.resolved).disruption
        if cost < Disruption.DRAIN:
            return mind
        words = f"a change of the configuration needs a {cost}: pods are moved away first"
        self._announce("Draining", words, Severity.NORMAL)
        return replace(mind, needs=str(cost), needs_config=reading.digest)

    def _check(self, case: Case, mind: Mind) -> Mind:
        due = self._is_examination_due(case, mind)
        plan = self.work.examine(case.spec) if due else self.work.find_differences(case.spec)
        drift = tuple(change.key for change in plan.changes)
        mind = after_look(mind, self.clock.monotonic(), examined=due)
        if not drift:
            return replace(mind, drift=(), repair_pause=None)
        if drift != mind.drift:
            self._announce("Drifted", f"not as it should be: {', '.join(drift)}", Severity.WARNING)
        pause = mind.repair_pause
        if plan.disruption >= Disruption.DRAIN:
            failure = Failure(
                code="agent/needs-consent",
                kind=Kind.TERMINAL,
                message=f"putting back {drift[0]} needs a {plan.disruption}",
                hint="run bootstrap when that suits",
            )
            pause = Pause(failure=failure, stamp=case.reading.stamp)
        return replace(mind, drift=drift, repair_pause=pause)

    def _take(self, task: Task, outcome: Outcome, case: Case, mind: Mind, *, config: str) -> Mind:
        """What an outcome means for what comes next."""
        for text in (*outcome.reservations, *outcome.warnings):
            _log.warning("%s", text)
        failure = outcome.failure
        if failure is None and outcome.result is Result.DEGRADED:
            said = "; ".join(outcome.reservations) or "a part of it could not be done"
            failure = Failure(code="generation/degraded", kind=Kind.TRANSIENT, message=said)
        if failure is not None:
            return self._pause(task, case, mind, failure, came_to=outcome.result)
        reason, words = _DONE[task]
        if outcome.joined and not case.situation.joined:
            reason, words = "Bootstrapped", "this machine is a node of the cluster"
        if outcome.result is not Result.UNCHANGED:
            self._announce(reason, f"{words}, as generation {outcome.generation}", Severity.NORMAL)
        known = outcome.current or ""
        mind = after_success(mind, generation=known if config else "", config=config)
        return after_look(mind, self.clock.monotonic())

    def _is_examination_due(self, case: Case, mind: Mind) -> bool:
        return next_examination(case.situation, mind) <= self.clock.monotonic()

    def _pause(
        self,
        task: Task,
        case: Case,
        mind: Mind,
        failure: Failure,
        *,
        least: float = 0.0,
        came_to: Result | None = None,
    ) -> Mind:
        """`came_to`: None if nothing had changed yet. A repair that failed so keeps no change waiting."""
        keeping = came_to is None and task in _KEEPING
        before = mind.repair_pause if keeping else mind.pause
        pause = rest(
            before,
            failure,
            stamp=case.reading.stamp,
            now=self.clock.monotonic(),
            chance=self.chance(),
            least=least,
            final=came_to is Result.ROLLED_BACK,
        )
        if before is None or before.failure.code != failure.code:
            reason = _UNMET.get(came_to, f"{task.value.capitalize()}Failed")
            self._announce(reason, f"{failure.message} ({failure.code})", Severity.WARNING)
        else:
            _log.warning("%s failed again, %d times now: %s", task.value, pause.failures, failure.message)
        if keeping:
            due = task is Task.CHECK and self._is_examination_due(case, mind)
            return replace(after_look(mind, self.clock.monotonic(), examined=due), repair_pause=pause)
        return replace(mind, pause=pause)

    def _announce(self, reason: str, message: str, severity: Severity) -> None:
        _log.log(logging.INFO if severity is Severity.NORMAL else logging.WARNING, "%s: %s", reason, message)
        self.herald.announce(reason, message, severity=severity)
