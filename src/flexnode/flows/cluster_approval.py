"""Approve the serving certificates of kubelets, which no controller of Kubernetes does.

What is in order is approved. What is not stays as it is, with the reason told: another approver may know
better, and a Node's address may only be on its way.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from flexnode.clock import Clock
from flexnode.errors import KubeError
from flexnode.kube import Api, Code
from flexnode.kube.approver import RENEWED, announce, renew, withdraw
from flexnode.kube.certificates import CSRS, SERVING_SIGNER, Csr, CsrState, approve_csr, list_csrs, view_csr
from flexnode.kube.nodes import Node, find_node
from flexnode.kube.serving import find_flaw, node_of
from flexnode.kube.watch import Happened, watch

REASON = "FlexNodeServing"
MESSAGE = "requester, subject, usages and addresses are those of the node"

IDLE = 60.0
"""How long to wait for a change when nothing is open, in seconds; then everything is looked at anew."""

RECHECK = 5.0
"""The same while a request is refused: its Node's addresses may change, which no watch of requests shows."""

PAUSES = (1.0, 2.0, 5.0, 15.0, 30.0)
"""After failures in a row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What was decided about one request. `flaw` empty: approved."""

    request: str
    requester: str
    flaw: str = ""

    @property
    def approved(self) -> bool:
        return not self.flaw


@dataclass(frozen=True, kw_only=True, slots=True)
class Review:
    """One look at all open requests, as of `version` of their list."""

    decisions: tuple[Decision, ...]
    version: str

    @property
    def refused(self) -> tuple[Decision, ...]:
        return tuple(each for each in self.decisions if not each.approved)


@dataclass(slots=True)
class Approver:
    """Keeps a cluster's open requests decided. `tell` hears each decision once.

    While it runs as `holder` it says so in the cluster, so that nodes know of it before the first of them
    asks.
    """

    api: Api
    clock: Clock
    holder: str = "aks-flex-node cluster approve"
    tell: Callable[[Decision], None] = lambda _decision: None
    trouble: Callable[[KubeError], None] = lambda _error: None
    _told: set[Decision] = field(default_factory=set)
    _announced: float | None = None

    def review(self) -> Review:
        """Look at every open request and decide it."""
        asked, version = list_csrs(self.api, SERVING_SIGNER)
        nodes: dict[str, Node | None] = {}
        decisions = []
        for csr in asked:
            if csr.state is CsrState.PENDING and (decision := self._decide(csr, nodes)) is not None:
                decisions.append(decision)
                if decision not in self._told:
                    self.tell(decision)
        # Only what is still open: a request that comes back under an old name is told again.
        self._told = {each for each in decisions if not each.approved}
        return Review(decisions=tuple(decisions), version=version)

    def run(self, seconds: float | None) -> Review:
        """Review again at every change, for so long (None: for ever); the last review.

        Failures that may pass are waited out; one is raised if the time ends and there was no review at all.
        """
        deadline = None if seconds is None else self.clock.monotonic() + seconds
        try:
            return self._run(deadline)
        finally:  # a sign that outlives its approver would promise what nobody does
            with suppress(KubeError):
                withdraw(self.api, self.holder)

    def _run(self, deadline: float | None) -> Review:
        last: Review | None = None
        failures = 0
        while True:
            begun = self.clock.monotonic()
            try:
                last = self.review()
                failures = 0
                self._announce()
                self._wait(last, self._left(deadline))
            except KubeError as error:
                if not error.transient or (last is None and self._left(deadline) <= 0):
                    raise
                if error.code != Code.EXPIRED:
                    self.trouble(error)
                pause = max(PAUSES[min(failures, len(PAUSES) - 1)], error.retry_after or 0.0)
                failures += 1
                self.clock.sleep(max(0.0, min(pause, self._left(deadline))))
            if last is not None and self._left(deadline) <= 0:
                return last
            # A server that ends every watch at once must not be asked in a circle.
            rest = 1.0 - (self.clock.monotonic() - begun)
            self.clock.sleep(max(0.0, min(rest, self._left(deadline))))

    def _announce(self) -> None:
        """One that may approve and not say so approves all the same."""
        now = self.clock.monotonic()
        if self._announced is not None and now - self._announced < RENEWED.total_seconds():
            return
        try:
            (announce if self._announced is None else renew)(self.api, self.holder, self.clock)
        except KubeError as error:
            if error.transient:
                raise
            if self._announced is None:
                self.trouble(error)
        self._announced = now

    def _decide(self, csr: Csr, nodes: dict[str, Node | None]) -> Decision | None:
        """None: somebody else decided it in the same moment, or took it back."""
        name = node_of(csr)
        if name and name not in nodes:
            nodes[name] = find_node(self.api, name)
        flaw = find_flaw(csr, nodes.get(name))
        if flaw is None:
            try:
                approve_csr(self.api, csr, reason=REASON, message=MESSAGE, clock=self.clock)
            except KubeError as error:
                if error.code in (Code.CONFLICT, Code.NOT_FOUND):
                    return None
                raise
        return Decision(request=csr.name, requester=csr.username, flaw=flaw or "")

    def _wait(self, review: Review, left: float) -> None:
        """Return at the next open request, or when it is time to look anyway."""
        seconds = min(RECHECK if review.refused else IDLE, left)
        if seconds <= 0:
            return
        changes = watch(
            self.api,
            CSRS,
            dict[str, Any],
            since=review.version,
            seconds=seconds,
            query={"fieldSelector": f"spec.signerName={SERVING_SIGNER}"},
        )
        for happened, document in changes:
            if happened is not Happened.DELETED and view_csr(document).state is CsrState.PENDING:
                return

    def _left(self, deadline: float | None) -> float:
        return IDLE if deadline is None else deadline - self.clock.monotonic()
