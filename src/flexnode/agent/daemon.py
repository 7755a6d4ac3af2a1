"""The agent's loop: look, decide, do one thing, say how it is, and sleep until something happens."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from flexnode import __version__
from flexnode.agent import health
from flexnode.agent.assess import Assessment, Findings, Phase, assess
from flexnode.agent.board import Board
from flexnode.agent.doorbell import Bell
from flexnode.agent.herald import Herald
from flexnode.agent.inputs import Inputs, Reading
from flexnode.agent.memory import Marked, Memory
from flexnode.agent.notify import Notifier
from flexnode.agent.operate import Case, Operator
from flexnode.agent.pulse import Pulse
from flexnode.agent.standing import Standing, Standings, find_origin
from flexnode.agent.supervise import NEVER, Choice, Mind, Situation, Task, choose, settle
from flexnode.agent.watch import Watch
from flexnode.clock import Clock
from flexnode.errors import FlexError
from flexnode.flows.node_api import has_joined
from flexnode.flows.status import AgentStatus, Fault
from flexnode.generation.lock import hold
from flexnode.generation.outcome import Failure
from flexnode.host.door import Host
from flexnode.kube import Api
from flexnode.kube.events import Severity
from flexnode.model.spec import AgentSpec, DriftPolicy, NodeSpec

TICK = 60.0
"""Seconds after which everything is looked at, whether or not something was heard."""

SHORTEST = 0.5
SETTLING = 1.0
"""Seconds that whoever writes the configuration has to finish."""

_log = logging.getLogger(__name__)

Connect = Callable[[NodeSpec | None], AbstractContextManager[Api]]


@dataclass(kw_only=True)
class Agent:
    """Everything that it looks at and works with is handed in, so that it can live in a fake world."""

    host: Host
    clock: Clock
    inputs: Inputs
    standings: Standings
    operator: Operator
    memory: Memory
    herald: Herald
    board: Board
    bell: Bell
    pulse: Pulse
    notifier: Notifier
    config_watch: Watch
    managed_watch: Watch
    connect: Connect
    find_kubelet_fault: Callable[[], str]
    open_log: Callable[[AgentSpec], None] = lambda _spec: None
    has_grown: Callable[[], bool] = lambda: False

    mind: Mind = field(default_factory=Mind)
    records: health.Records = field(default_factory=dict)
    marked: Marked = field(default_factory=Marked)
    _started: datetime = field(init=False)
    _worked: bool = False  # an operation has taken its memory
    _reading: Reading | None = None
    _spec: NodeSpec | None = None  # the last that was valid
    _standing: Standing | None = None
    _remedy: health.Remedy = field(default_factory=health.Remedy)
    _next_look: float = float("-inf")
    _touched: float | None = None
    _followed: tuple[str, ...] | None = None
    _inputs_followed: tuple[str, ...] = ()
    _complained: str = ""

    def __post_init__(self) -> None:
        self._started = self.clock.now()

    def run(self) -> bool:
        """Until somebody asks it to stop; True where it had better begin anew, in this process's place.

        Operations load what the agent at rest has no use for. Nobody unloads a module, so that the way to be
        small again is to start again: nothing is lost, since all that it knows is on disk.
        """
        self.begin()
        with self.pulse.passed_on():
            while not self.bell.stop:
                self.pulse.beat()
                pause = self.turn()
                if pause > 0:
                    if self._worked and self.has_grown():
                        _log.info("at rest: starting anew, without what the work needed")
                        return True
                    self.bell.wait(pause, (self.config_watch, self.managed_watch))
            self.notifier.stopping()
        _log.info("stopped")
        return False

    def begin(self) -> None:
        """Go on from where the process before this one was. systemd need not wait for a bootstrap."""
        self.board.prepare()
        try:
            self.mind, self.records, self.marked = self.memory.recall()
        except FlexError as error:
            _log.warning("what the agent knew is lost: %s", error.message)
        self.notifier.ready()

    def turn(self) -> float:
        """One round; answers for how many seconds nothing is due."""
        if self.bell.again:
            self._begin_again()
        reading = self._read_inputs()
        try:
            standing = self._standing = self.standings.read()
        except FlexError as error:
            return self._be_lost(Failure.of(error), reading)
        self._listen(standing)
        self._look_after(standing)
        situation = self._describe(standing, reading)
        choice = choose(situation, self.mind, self.clock.monotonic())
        if choice.task not in (Task.WAIT, Task.IDLE):
            return self._perform(choice.task, Case(situation=situation, reading=reading, spec=self._spec))
        findings = Findings(
            invalid=reading.failure, faults=self._remedy.faults, given_up=self._remedy.given_up
        )
        assessment = assess(situation, self.mind, findings, choice.task)
        self._say(assessment, standing, reading)
        if choice.task is Task.IDLE:
            self._forget()
            return TICK
        self._remember()
        return self._until_next(choice, standing)

    def show_work(self, line: str) -> None:
        """What an operation is at, for the status file."""
        assessment = Assessment(phase=Phase.WORKING, reason="Working", message=line)
        self.board.show(self._status(assessment))

    def _perform(self, task: Task, case: Case) -> float:
        _log.info("begin: %s", task.value)
        self._touched = None
        self.mind = self.operator.perform(task, case, self.mind)
        if task is not Task.CHECK:
            self._worked = True
            # The files that it wrote are as it left them, and its units have just been started.
            self._followed = None
            self._remedy = health.Remedy()
        self._remember()
        return 0.0

    def _begin_again(self) -> None:
        """SIGHUP: nothing that was given up stays so."""
        _log.info("reading everything again, as asked")
        self.notifier.reloading(self.clock.monotonic())
        self.bell.again = False
        self.mind = replace(self.mind, pause=None, repair_pause=None, checked=None, examined=-NEVER)
        self.inputs.read(again=True)
        self.notifier.ready()

    def _read_inputs(self) -> Reading:
        if self.config_watch.changed():
            self.bell.wait(SETTLING)
        reading, before = self.inputs.read(), self._reading
        if self.inputs.paths != self._inputs_followed:
            self._inputs_followed = self.inputs.paths
            self.config_watch.follow(self._inputs_followed)
        if reading is before:
            return reading
        self._reading = reading
        if reading.resolved is not None:
            self._spec = reading.resolved.spec
            self.open_log(self._spec.agent)
            for warning in reading.resolved.warnings:
                _log.warning("%s", warning)
        if reading.failure is not None and (before is None or before.failure != reading.failure):
            _log.warning("the configuration: %s (%s)", reading.failure.message, reading.failure.code)
            self.herald.announce("ConfigurationInvalid", reading.failure.message, severity=Severity.WARNING)
        return reading

    def _listen(self, standing: Standing) -> None:
        """Hear of managed files that somebody touches; not while an operation does."""
        paths = standing.paths if standing.is_node else ()
        if self._followed != paths:
            self._followed = paths
            self.managed_watch.follow(paths)
        elif (changed := self.managed_watch.changed()) and not standing.busy and self._touched is None:
            _log.info("touched: %s", ", ".join(sorted(changed)))
            self._touched = self.clock.monotonic()

    def _look_after(self, standing: Standing) -> None:
        now = self.clock.monotonic()
        if now < self._next_look or not standing.is_node or standing.busy:
            return
        self._next_look = now + health.INTERVAL
        try:
            vitals = health.look(self.host, self.find_kubelet_fault)
        except FlexError as error:
            _log.warning("the health of the node cannot be told: %s", error.message)
            return
        before = self._remedy
        self.records, self._remedy = health.treat(vitals, self.records, now)
        for name, fault in self._remedy.faults.items():
            if before.faults.get(name) != fault:
                _log.warning("%s", fault)
        if self._remedy.restart:
            self._restart(self._remedy.restart, self._remedy.why)
        if set(self._remedy.stopped) - set(before.stopped) and self._touched is None:
            self._touched = now
        self._next_look = self.clock.monotonic() + self._remedy.again

    def _restart(self, unit: str, why: str) -> None:
        self.records = health.note_restart(self.records, unit, self.clock.monotonic())
        name = unit.removesuffix(".service").capitalize()
        self.herald.announce(f"{name}Restarted", why, severity=Severity.WARNING)
        _log.warning("restarting %s: %s", unit, why)
        try:
            with (
                self.pulse.working(),
                hold(self.standings.directory.lock, f"restart {unit}", clock=self.clock),
            ):
                self.host.units.restart(unit)
        except FlexError as error:
            _log.warning("%s could not be restarted: %s", unit, error.message)

    def _describe(self, standing: Standing, reading: Reading) -> Situation:
        """The situation, with what is remembered brought in line with it."""
        state, spec = standing.state, self._spec
        situation = Situation(
            desired=state.desired,
            current=state.current,
            prepared=standing.prepared,
            unfinished=standing.unfinished,
            busy=standing.busy,
            cordoned=state.cordoned,
            config=reading.digest,
            stamp=reading.stamp,
            touched=self._touched,
            # What nobody can read may say that drift shall stay.
            repairs=spec is not None and spec.agent.drift is DriftPolicy.REPAIR,
            check_interval=(spec.agent if spec else AgentSpec()).full_check_interval,
        )
        self.mind = settle(self.mind, situation)
        adopts = situation.joined and state.current != self.mind.generation
        if state.current and adopts and reading.resolved is not None:
            try:
                config = find_origin(
                    self.standings.directory, state.current, reading.resolved, reading.digest
                )
            except FlexError as error:
                self._complain(error)
                config = reading.digest
            self.mind = replace(self.mind, generation=state.current, config=config, drift=())
            _log.info("generation %s is current; it is kept as it is", state.current)
        return situation

    def _say(self, assessment: Assessment, standing: Standing, reading: Reading) -> None:
        self.notifier.status(assessment.message)
        node = standing.node
        if node and standing.is_node and has_joined(self.host):
            spec = self._spec
            # Labels of a configuration that waits or was refused are not the node's.
            identity = spec.identity if spec and reading.digest == self.mind.config else None
            if self.herald.is_due(node, assessment, identity, self.marked):
                self.marked = self.herald.tell(
                    lambda: self.connect(spec), node, assessment, identity, self.marked
                )
        self.board.show(self._status(assessment))

    def _be_lost(self, failure: Failure, reading: Reading) -> float:
        """The product's own records cannot be used: nothing is done that could make it worse."""
        _log.error("%s (%s)", failure.message, failure.code)
        situation = Situation(stamp=reading.stamp)
        assessment = assess(situation, self.mind, Findings(lost=failure), Task.WAIT)
        self.notifier.status(assessment.message)
        self.board.show(self._status(assessment))
        return TICK

    def _remember(self) -> None:
        """A full or broken disk costs the memory of what was tried, and not the agent."""
        try:
            self.memory.keep(self.mind, self.records, self.marked)
        except FlexError as error:
            self._complain(error)
        else:
            self._complained = ""

    def _forget(self) -> None:
        """The machine left: the next node that it becomes owes nothing to this one."""
        self.mind, self.records, self.marked = Mind(), {}, Marked()
        try:
            self.memory.forget()
        except FlexError as error:
            self._complain(error)

    def _complain(self, error: FlexError) -> None:
        if error.message != self._complained:
            _log.warning("%s (%s)", error.message, error.code)
        self._complained = error.message

    def _until_next(self, choice: Choice, standing: Standing) -> float:
        now = self.clock.monotonic()
        look = self._next_look if standing.is_node else NEVER
        return max(SHORTEST, min(TICK, choice.due - now, look - now))

    def _status(self, assessment: Assessment) -> AgentStatus:
        standing, failure = self._standing, assessment.failure
        now = self.clock.now()
        return AgentStatus(
            version=__version__,
            pid=os.getpid(),
            started=self._started,
            updated=now,
            phase=assessment.phase.value,
            reason=assessment.reason,
            message=assessment.message,
            healthy=assessment.healthy,
            desired=(standing.state.desired or "") if standing else "",
            node=standing.node if standing else "",
            generation=(standing.state.current or "") if standing else "",
            prepared=standing.prepared if standing else False,
            failure=None if failure is None else _record(failure),
            retry_at=self._date(assessment.retry_at),
            needs=self.mind.needs,
            drift=self.mind.drift,
            checked=self._date(self.mind.checked),
            faults=dict(self._remedy.faults),
            advice=self.herald.advice,
        )

    def _date(self, moment: float | None) -> datetime | None:
        if moment is None:
            return None
        return self.clock.now() + timedelta(seconds=moment - self.clock.monotonic())


def _record(failure: Failure) -> Fault:
    return Fault(code=failure.code, kind=failure.kind.value, message=failure.message, hint=failure.hint)
