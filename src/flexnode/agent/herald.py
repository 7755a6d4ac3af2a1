"""What the cluster hears of this node: a condition, events, and the labels that its configuration gives it.

All of it as the node itself, over a connection that is closed again. A cluster that cannot be reached is told
later; nothing else waits for it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from flexnode.agent.assess import Assessment
from flexnode.agent.marks import compare_marks
from flexnode.agent.memory import Marked
from flexnode.clock import Clock
from flexnode.components.identity import identity_labels
from flexnode.errors import FlexError
from flexnode.kube import Api
from flexnode.kube.events import Severity, record_event
from flexnode.kube.nodes import Node, find_node, mark_node, set_condition
from flexnode.model.spec import IdentitySpec

CONDITION = "FlexNodeHealthy"

HEARTBEAT = 300.0
"""Seconds after which a condition is said again though nothing changed."""

RETRY = 60.0

_KEPT = 20
_WIDEST = 1000
"""How many events wait for a cluster that cannot be reached, and how long a condition's message may be."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class News:
    """Something that happened, as an event on the Node."""

    reason: str
    message: str
    severity: Severity = Severity.NORMAL


@dataclass(kw_only=True)
class Herald:
    """`beat` is called between requests, each of which may take its time."""

    clock: Clock
    beat: Callable[[], None] = lambda: None
    advice: tuple[str, ...] = ()
    _news: deque[News] = field(default_factory=lambda: deque(maxlen=_KEPT))
    _said: tuple[str, bool, str, str] | None = None
    _at: float = float("-inf")
    _not_before: float = float("-inf")

    def announce(self, reason: str, message: str, *, severity: Severity = Severity.NORMAL) -> None:
        """Tell the cluster when it can be told. The newest wait, the oldest are forgotten."""
        self._news.append(News(reason=reason, message=message, severity=severity))

    def is_due(
        self, node: str, assessment: Assessment, identity: IdentitySpec | None, marked: Marked
    ) -> bool:
        now = self.clock.monotonic()
        if now < self._not_before:
            return False
        changed = self._said != _words(node, assessment) or bool(self._news)
        return changed or now - self._at >= HEARTBEAT or _is_new(identity, marked)

    def tell(
        self,
        connect: Callable[[], AbstractContextManager[Api]],
        node: str,
        assessment: Assessment,
        identity: IdentitySpec | None,
        marked: Marked,
    ) -> Marked:
        """Say all that is to be said; answers what of the configuration stands on the Node now."""
        try:
            with connect() as api:
                found = find_node(api, node)
                if found is None:
                    raise FlexError(f"the cluster has no Node {node}", code="node/not-registered")
                self._say_condition(api, found, assessment)
                if identity is not None:
                    marked = self._mark(api, found, identity, marked)
                self._say_news(api, found)
        except FlexError as error:
            _log.info("the cluster was not told: %s", error.message)
            self._not_before = self.clock.monotonic() + RETRY
            return marked
        self._said, self._at = _words(node, assessment), self.clock.monotonic()
        return marked

    def _say_condition(self, api: Api, node: Node, assessment: Assessment) -> None:
        set_condition(
            api,
            node,
            kind=CONDITION,
            status=str(assessment.healthy),
            reason=assessment.reason,
            message=assessment.message[:_WIDEST],
            clock=self.clock,
        )
        self.beat()

    def _mark(self, api: Api, node: Node, identity: IdentitySpec, marked: Marked) -> Marked:
        marks = compare_marks(node, identity, marked)
        if marks.labels or marks.annotations:
            mark_node(api, node.name, labels=marks.labels, annotations=marks.annotations)
            _log.info(
                "labels and annotations of the Node: %s", ", ".join((*marks.labels, *marks.annotations))
            )
            self.beat()
        if marks.advice and marks.advice != self.advice:
            _log.warning("a node may not change its own taints; an administrator does: %s", marks.advice[0])
        self.advice = marks.advice
        return marks.marked

    def _say_news(self, api: Api, node: Node) -> None:
        while self._news:
            news = self._news[0]
            record_event(
                api,
                node,
                reason=news.reason,
                message=news.message,
                clock=self.clock,
                severity=news.severity,
            )
            self._news.popleft()
            self.beat()


def _words(node: str, assessment: Assessment) -> tuple[str, bool, str, str]:
    return node, assessment.healthy, assessment.reason, assessment.message


def _is_new(identity: IdentitySpec | None, marked: Marked) -> bool:
    """Whether the configuration says something of the Node that was not said to the cluster yet."""
    if identity is None:
        return False
    return marked.labels != identity_labels(identity) or marked.annotations != dict(identity.annotations)
