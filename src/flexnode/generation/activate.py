"""Bringing a machine to a generation, and back: what every flow of the product calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from flexnode.clock import Clock
from flexnode.errors import FlexError, GenerationError, Kind
from flexnode.generation.apply import Applied
from flexnode.generation.contents import StoredContents, installed_paths, referenced_members
from flexnode.generation.course import Closing, Course, close_nothing, closed
from flexnode.generation.digest_memory import keep_digests
from flexnode.generation.directory import StateDirectory
from flexnode.generation.generation import EMPTY_ID, Generation
from flexnode.generation.history import History
from flexnode.generation.judge import Machine
from flexnode.generation.ledger import Ledger
from flexnode.generation.lock import hold
from flexnode.generation.node_state import Desired
from flexnode.generation.operation import Operation
from flexnode.generation.order import Evacuation, NoCluster, Order, Tools, Verify, trust
from flexnode.generation.outcome import Failure, Outcome
from flexnode.generation.plan import Plan, make_plan
from flexnode.generation.recover import Decision, Way, decide, has_ended, next_record
from flexnode.generation.stage import Fetch, fetch_nothing, stage
from flexnode.generation.steps import Observer, watch_nothing
from flexnode.host.door import Host
from flexnode.resources.handler import Handler

DEFAULT_SECONDS = 900.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Activation:
    """One machine with all that it takes to change it. Every method that changes something takes the lock."""

    host: Host
    handlers: Mapping[str, Handler]
    contents: StoredContents
    directory: StateDirectory
    ledger: Ledger
    clock: Clock
    fetch: Fetch = fetch_nothing
    verify: Verify = trust
    evacuation: Evacuation = field(default_factory=NoCluster)
    observer: Observer = watch_nothing
    close: Closing = close_nothing
    stop: Callable[[], bool] = lambda: False

    def plan(self, target: Generation) -> Plan:
        """What `activate` would change. Reads only, and takes no lock."""
        history = History.load(self.directory, self.ledger)
        return make_plan(target, history.past(target), self._machine, history.journal)

    def require_way_to(self, target: Generation) -> None:
        """Raise what `activate` would, for a machine that must not become this."""
        History.load(self.directory, self.ledger).require_way_to(target)

    def stage(self, target: Generation) -> None:
        """Fetch, verify and unpack all that `target` needs, ahead of time and beside whatever runs."""
        history = History.load(self.directory, self.ledger)
        self.directory.prepare()
        stage(target, self.contents, self.fetch, known=history.generations)

    def activate(
        self,
        target: Generation,
        *,
        operation: str = "activate",
        inputs: str = "",
        seconds: float = DEFAULT_SECONDS,
        retry: bool = False,
        forgiving: bool = False,
        before: Callable[[], object] | None = None,
    ) -> Outcome:
        """Bring the machine to `target`; the empty generation is how it leaves.

        A failure before anything changed is raised, and so is one of leaving; any other is in the outcome.
        `inputs` is a digest of what the target was composed from: a rejected generation is tried again when
        it differs, or with `retry`. `seconds` bounds applying and verifying. `forgiving`: leaving goes on
        after failures, and tells them as reservations. `before` is called if there is something to do.
        """
        order = Order(
            name=operation,
            target=target,
            seconds=seconds,
            inputs=inputs,
            retry=retry,
            forgiving=forgiving,
            before=before,
        )
        with self._operation(operation) as running:
            return running.forward(order)

    def rollback(self, *, operation: str = "rollback", seconds: float = DEFAULT_SECONDS) -> Outcome:
        """Activate the generation before the current one, which is then not activated again by itself."""
        with self._operation(operation) as running:
            previous = running.history.state.previous
            target = running.history.find(previous) if previous else None
            if target is None:
                raise GenerationError(
                    "there is no generation before the current one, or it cannot be read any more",
                    code="generation/no-previous",
                    hint="change the configuration to what it was, and run bootstrap",
                )
            return running.forward(
                Order(name=operation, target=target, seconds=seconds, retry=True, rejects=True)
            )

    def recover(self, *, operation: str = "recover") -> Outcome | None:
        """Bring an operation that was cut off to its end, by the rule of `decide`; None if there is none."""
        if not self.directory.journal.exists():
            return None
        with self._operation(operation) as running:
            if not running.history.journal.open:
                return None
            decision = decide(running.history)
            if decision.way is Way.CLOSE:
                running.history.journal.close()
                return None
            target = running.history.find(decision.opened.target) if decision.opened else None
            current = running.history.current
            stuck = target is None and current is not None and current.joins
            if decision.opened is not None and (decision.way is Way.BACK or stuck):
                return running.go_back(decision.opened, _failure(decision))
            if decision.opened is None or target is None:
                raise GenerationError(
                    "what was being done to this machine cannot be read any more",
                    code="generation/lost",
                    hint="run bootstrap again, or unbootstrap: both look at all that may be there",
                )
            if decision.way is Way.CONFIRM:
                return running.confirm(target, decision.opened)
            return running.resume(target, next_record(running.history, decision.opened))

    def release(self, *, operation: str = "release", seconds: float = DEFAULT_SECONDS) -> Outcome:
        """Let pods come again to a node that was cordoned for a change which did not come about.

        Only once it works; one that a person cordoned stays as it is.
        """
        with self._operation(operation) as running:
            current = running.history.current
            if current is None or not current.joins or running.history.journal.open:
                raise GenerationError(
                    "no generation is confirmed to be in place, so that no pods are let come to it",
                    code="generation/no-current",
                    hint="run bootstrap",
                )
            return running.release(current, seconds)

    def prepare_boot(self) -> None:
        """Before containerd and kubelet start: give them the files of one generation, and not of two.

        The direction is that of `recover`, which does the rest once the machine runs. A machine on its way
        out is left as it is: what has to come first there cannot be done yet.
        """
        if not self.directory.journal.exists():
            return
        with self._operation("recover at boot", tidy=False) as running:
            decision = decide(running.history)
            opened = None if has_ended(running.history.journal) else decision.opened
            if opened is None or decision.way not in (Way.FORWARD, Way.BACK) or opened.target == EMPTY_ID:
                return
            if decision.way is Way.BACK:
                running.reject(opened, decision.reason)
                opened = running.way_back(opened, _failure(decision))
            else:
                opened = next_record(running.history, opened)
            target = running.history.find(opened.target)
            if target is not None:
                running.bring_files(target, opened)

    @property
    def _machine(self) -> Machine:
        return Machine(host=self.host, handlers=self.handlers, contents=self.contents)

    @contextmanager
    def _operation(self, name: str, *, tidy: bool = True) -> Iterator[Operation]:
        self.directory.prepare()
        with hold(self.directory.lock, name, clock=self.clock):
            course = Course(name=name, clock=self.clock, observer=self.observer)
            with closed(course, self.close):
                running = self._begin(course)
                if tidy and has_ended(running.history.journal):
                    # The operation before this one was cut off when all that mattered was done.
                    running.tidy()
                    running.history = History.load(self.directory, self.ledger)
                    running.applied = Applied()
                yield running
            if running.history.state.desired is not Desired.LEFT:
                if running.applied.changes:
                    with suppress(FlexError):  # it saves work later, and is not worth a failure now
                        self._read_again(running.history)
                keep_digests(self.directory, self.contents.digests)

    def _read_again(self, history: History) -> None:
        """Read what was too young to be remembered when it was read, so that later processes need not."""
        current = history.find(history.state.current) if history.state.current else None
        if current is None:
            return
        for path in installed_paths(current):
            self.host.files.digest(path)
        for need in current.needs:
            self.contents.store.holds(need.sha256)
        self.contents.members.missing(referenced_members(current))

    def _begin(self, course: Course) -> Operation:
        tools = Tools(
            machine=self._machine,
            contents=self.contents,
            directory=self.directory,
            ledger=self.ledger,
            clock=self.clock,
            fetch=self.fetch,
            verify=self.verify,
            evacuation=self.evacuation,
            stop=self.stop,
        )
        return Operation(tools=tools, course=course, history=History.load(self.directory, self.ledger))


def _failure(decision: Decision) -> Failure:
    return Failure(
        code="generation/cut-off",
        kind=Kind.TERMINAL,
        message=decision.reason or "its description is lost",
        hint="`aks-flex-node bootstrap --retry` tries it again",
    )
