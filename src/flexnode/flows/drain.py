"""Emptying a node: cordon it, decide about every pod, then ask the cluster to evict those that may go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from flexnode.clock import Clock
from flexnode.errors import FlexError
from flexnode.kube import Api
from flexnode.kube.judgement import DrainPolicy, Fate, Verdict, judge_pods
from flexnode.kube.nodes import cordon
from flexnode.kube.pods import Eviction, Pod, evict, is_gone, list_pods
from flexnode.progress import Progress

_POLL = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """How long a drain may take in all, and its pauses before it asks for a refused eviction again."""

    seconds: float = 300.0
    first_pause: float = 5.0
    longest_pause: float = 30.0


@dataclass(kw_only=True, slots=True)
class _Departure:
    """A pod on its way out."""

    pod: Pod
    accepted: bool = False
    pause: float
    next_try: float = 0.0
    reason: str = ""


@dataclass(kw_only=True, slots=True)
class _Drain:
    api: Api
    clock: Clock
    patience: Patience
    waiting: list[_Departure] = field(default_factory=list)

    def ask(self, departure: _Departure) -> None:
        """Ask for one eviction, and note what came of it."""
        outcome = evict(self.api, departure.pod)
        departure.accepted = outcome.result in (Eviction.ACCEPTED, Eviction.GONE)
        departure.reason = outcome.message
        pause = max(departure.pause, outcome.retry_after or 0.0)
        departure.next_try = self.clock.monotonic() + pause
        departure.pause = min(departure.pause * 1.5, self.patience.longest_pause)

    def step(self) -> None:
        for departure in self.waiting:
            if not departure.accepted and self.clock.monotonic() >= departure.next_try:
                self.ask(departure)
        self.waiting = [each for each in self.waiting if not is_gone(self.api, each.pod)]


def drain(
    api: Api, node: str, *, policy: DrainPolicy, patience: Patience, clock: Clock, progress: Progress
) -> tuple[Pod, ...]:
    """Returns the evicted pods once they are gone. The node is cordoned first, and stays so whatever happens.

    If any pod forbids it, none is evicted; out of time, the error names what was in the way.
    """
    cordon(api, node)
    verdicts = judge_pods(list_pods(api, node), policy)
    _require_allowed(node, verdicts)
    pods = tuple(verdict.pod for verdict in verdicts if verdict.fate is Fate.EVICT)
    work = _Drain(api=api, clock=clock, patience=patience)
    work.waiting = [_Departure(pod=pod, pause=patience.first_pause) for pod in pods]
    deadline = clock.monotonic() + patience.seconds
    while True:
        work.step()
        if not work.waiting:
            return pods
        if clock.monotonic() >= deadline:
            raise _out_of_time(node, work.waiting, patience)
        progress.note(_tell(work.waiting))
        clock.sleep(_POLL)


def _require_allowed(node: str, verdicts: Sequence[Verdict]) -> None:
    forbidding = [verdict for verdict in verdicts if verdict.fate is Fate.FORBID]
    if forbidding:
        reasons = "; ".join(f"{verdict.pod}: {verdict.reason}" for verdict in forbidding)
        raise FlexError(
            f"{node} cannot be drained: {reasons}",
            code="drain/forbidden",
            hint="move or delete these pods, or allow it explicitly; the node stays cordoned",
        )


def _out_of_time(node: str, waiting: Sequence[_Departure], patience: Patience) -> FlexError:
    return FlexError(
        f"{node} was not empty after {patience.seconds:g} s: {_tell(waiting)}",
        code="drain/timeout",
        transient=True,
        hint="loosen the budget, or delete the pod; the node stays cordoned",
    )


def _tell(waiting: Sequence[_Departure]) -> str:
    said = (f"{each.pod} ({each.reason})" if each.reason else str(each.pod) for each in waiting)
    return f"waiting for {', '.join(said)}"
