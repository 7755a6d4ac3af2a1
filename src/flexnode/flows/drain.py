"""Emptying a node: cordon it, decide about every pod, then ask the cluster to evict those that may go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from flexnode.clock import Clock
from flexnode.errors import FlexError, KubeError
from flexnode.generation.apply import Stopped
from flexnode.kube import Api
from flexnode.kube.judgement import DrainPolicy, Fate, Verdict, judge_pods
from flexnode.kube.nodes import cordon, find_node
from flexnode.kube.pods import Eviction, Pod, evict, is_gone, list_pods
from flexnode.progress import Progress

OUT_OF_TIME = "drain/timeout"

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
    """`waiting`: None until it is decided who has to go. `trouble`: why the last look came to nothing."""

    api: Api
    node: str
    policy: DrainPolicy
    clock: Clock
    patience: Patience
    waiting: list[_Departure] | None = None
    evicted: list[Pod] = field(default_factory=list)
    trouble: str = ""

    def is_done(self) -> bool:
        """Do what can be done now. A failure that may pass by itself leaves it for the next time."""
        self.trouble = ""
        try:
            return self._step()
        except KubeError as error:
            if not error.transient:
                raise
            self.trouble = error.message
            return False

    def tell(self) -> str:
        said = (
            f"{each.pod} ({each.reason})" if each.reason else str(each.pod) for each in self.waiting or ()
        )
        waiting = f"waiting for {', '.join(said)}" if self.waiting else ""
        return "; ".join(filter(None, (waiting, self.trouble)))

    def _step(self) -> bool:
        waiting = self._decide() if self.waiting is None else self.waiting
        self.waiting = waiting
        for departure in waiting:
            if not departure.accepted and self.clock.monotonic() >= departure.next_try:
                self._ask(departure)
        self.waiting = [each for each in waiting if not is_gone(self.api, each.pod)]
        return not self.waiting and self._is_cordoned()

    def _decide(self) -> list[_Departure]:
        verdicts = judge_pods(list_pods(self.api, self.node), self.policy)
        _require_allowed(self.node, verdicts)
        pods = [verdict.pod for verdict in verdicts if verdict.fate is Fate.EVICT]
        self.evicted += pods
        return [_Departure(pod=pod, pause=self.patience.first_pause) for pod in pods]

    def _ask(self, departure: _Departure) -> None:
        """Ask for one eviction, and note what came of it."""
        outcome = evict(self.api, departure.pod)
        departure.accepted = outcome.result in (Eviction.ACCEPTED, Eviction.GONE)
        departure.reason = outcome.message
        pause = max(departure.pause, outcome.retry_after or 0.0)
        departure.next_try = self.clock.monotonic() + pause
        departure.pause = min(departure.pause * 1.5, self.patience.longest_pause)

    def _is_cordoned(self) -> bool:
        """Somebody may have uncordoned it meanwhile, and new pods have come: then it all begins again."""
        found = find_node(self.api, self.node)
        if found is None or found.unschedulable:
            return True
        cordon(self.api, self.node)
        self.waiting = None
        return False


def drain(
    api: Api,
    node: str,
    *,
    policy: DrainPolicy,
    patience: Patience,
    clock: Clock,
    progress: Progress,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Pod, ...]:
    """Returns the evicted pods once they are gone. The node is cordoned first, and stays so whatever happens.

    If any pod forbids it, none is evicted. While the API server cannot be asked, it is waited for; out of
    time, the error names what was in the way.
    """
    deadline = clock.monotonic() + patience.seconds
    cordon(api, node)
    work = _Drain(api=api, node=node, policy=policy, clock=clock, patience=patience)
    while not work.is_done():
        if clock.monotonic() >= deadline:
            raise _out_of_time(node, work.tell(), patience)
        if stop():
            raise Stopped
        progress.note(work.tell())
        clock.sleep(_POLL)
    return tuple(work.evicted)


def _require_allowed(node: str, verdicts: Sequence[Verdict]) -> None:
    forbidding = [verdict for verdict in verdicts if verdict.fate is Fate.FORBID]
    if forbidding:
        reasons = "; ".join(f"{verdict.pod}: {verdict.reason}" for verdict in forbidding)
        raise FlexError(
            f"{node} cannot be drained: {reasons}",
            code="drain/forbidden",
            transient=True,  # pods come and go, and nothing that the node reads tells when
            hint="move or delete these pods, or allow it with agent.drain; the node stays cordoned",
        )


def _out_of_time(node: str, why: str, patience: Patience) -> FlexError:
    return FlexError(
        f"{node} was not empty after {patience.seconds:g} s: {why}",
        code=OUT_OF_TIME,
        transient=True,
        hint="loosen the budget, or delete the pod; the node stays cordoned",
    )
