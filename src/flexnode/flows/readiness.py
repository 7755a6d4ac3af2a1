"""The gate that a generation has to pass: the node works here, and its cluster says so too.

A machine that is only prepared has to start a sandbox; its kubelet waits for a cluster, and does not run.

Ready alone proves little. A Node stays Ready for some 40 s after its kubelet died, and one whose runtime can
start no pod goes Ready all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import datetime

from flexnode.clock import Clock
from flexnode.components.layout import CONTAINERD, KUBELET
from flexnode.errors import FlexError
from flexnode.flows.node_api import UNREACHABLE, find_node_name, has_joined, is_same_machine
from flexnode.generation.apply import Stopped
from flexnode.generation.deadline import Deadline
from flexnode.generation.generation import Generation
from flexnode.host.door import Host
from flexnode.kube import Api
from flexnode.kube.kubelet_health import find_kubelet_fault
from flexnode.kube.leases import Lease, find_node_lease
from flexnode.kube.nodes import Node, find_node
from flexnode.progress import Progress, Silent

STABLE = 20.0
"""For so many seconds both units must have been running without a restart."""

_PAUSE = 1.0


@dataclass(kw_only=True, slots=True)
class Readiness:
    """A `Verify`. `connect` gives the API as the node itself; it is called once kubelet has a certificate."""

    host: Host
    clock: Clock
    system_uuid: str
    connect: Callable[[], AbstractContextManager[Api]]
    find_kubelet_fault: Callable[[], str] = find_kubelet_fault
    progress: Progress = field(default_factory=Silent)
    stop: Callable[[], bool] = lambda: False

    def __call__(self, generation: Generation, deadline: Deadline, /) -> None:
        with ExitStack() as connections:
            self._wait(generation, deadline, connections)

    def _wait(self, generation: Generation, deadline: Deadline, connections: ExitStack) -> None:
        watch = _Watch(
            gate=self,
            node=find_node_name(generation),
            version=f"v{generation.kubernetes}",
            connections=connections,
        )
        known = has_joined(self.host)
        last = self.clock.monotonic()
        while (unmet := watch.look()) is not None:
            if not unmet.transient:
                raise unmet
            if self.stop():
                raise Stopped
            now = self.clock.monotonic()
            if known and unmet.code in UNREACHABLE:
                # It is asked only once all is well here, and being down says nothing about this node.
                deadline.extend(now - last)
            last = now
            if deadline.passed:
                goal = "become Ready" if watch.node else "come to work"
                raise _too_late(unmet, goal, deadline)
            self.progress.note(unmet.message)
            self.clock.sleep(_PAUSE)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Invocation:
    """One start of a unit, and when it was first seen: by the clock that does not jump, and by the other."""

    name: str
    seen: float
    at: datetime


@dataclass(kw_only=True, slots=True)
class _Watch:
    """One wait for readiness: what was seen so far."""

    gate: Readiness
    node: str | None  # None: this generation joins no cluster
    version: str
    connections: ExitStack
    _api: Api | None = None
    _sandbox: bool = False
    _invocations: dict[str, _Invocation] = field(default_factory=dict)
    _heartbeat: Lease | None = None  # the first one seen of this kubelet

    def look(self) -> FlexError | None:
        """The first thing that is missing, or that could not be asked; None when nothing is."""
        try:
            missing = self._look_here() or self._look_there()
        except FlexError as error:
            return error
        return missing or self._find_instability()

    def _look_here(self) -> FlexError | None:
        names = (CONTAINERD,) if self.node is None else (CONTAINERD, KUBELET)
        for name, unit in self.gate.host.units.find_all(names).items():
            if not unit.active:
                self._invocations.pop(name, None)
                return _pending("node/unit-down", f"{name} is not running", f"see journalctl -u {name}")
            known = self._invocations.get(name)
            if known is None or known.name != unit.invocation:
                clock = self.gate.clock
                self._invocations[name] = _Invocation(
                    name=unit.invocation, seen=clock.monotonic(), at=clock.now()
                )
                self._heartbeat = None
        if not self._sandbox:
            try:
                self.gate.host.runtime.try_sandbox()
            except FlexError as error:
                return error
            self._sandbox = True
        if self.node is None:
            return self._find_stray_kubelet()
        if fault := self.gate.find_kubelet_fault():
            return _pending("node/kubelet-unhealthy", fault, f"see journalctl -u {KUBELET}")
        return None

    def _find_stray_kubelet(self) -> FlexError | None:
        if not self.gate.host.units.find(KUBELET).active:
            return None
        return FlexError(
            f"{KUBELET} runs, and this machine is in no cluster",
            code="node/stray-kubelet",
            hint=f"find out what started it (journalctl -u {KUBELET}), stop it, and run this again",
        )

    def _look_there(self) -> FlexError | None:
        if self.node is None:
            return None
        if not has_joined(self.gate.host):
            return _pending(
                "join/no-certificate",
                "the cluster has not given this node its certificate yet",
                "see `kubectl get csr`: the cluster must approve requests of its bootstrap tokens;"
                " `aks-flex-node cluster setup` lets it",
            )
        if self._api is None:
            self._api = self.connections.enter_context(self.gate.connect())
        node = find_node(self._api, self.node)
        if node is None:
            return _pending("node/not-registered", f"kubelet has not registered {self.node} yet")
        return self._find_fault(node) or self._find_silence(self._api, node)

    def _find_fault(self, node: Node) -> FlexError | None:
        if not is_same_machine(node.system_uuid, self.gate.system_uuid):
            return FlexError(
                f"the name {node.name} belongs to another machine (system UUID {node.system_uuid})",
                code="join/name-taken",
                hint="set another node.name for this machine, or delete that Node if its machine is gone",
            )
        if node.kubelet_version != self.version:
            return _pending(
                "node/other-version",
                f"the node still reports kubelet {node.kubelet_version}, not {self.version}",
            )
        if not node.is_ready:
            said = node.ready
            why = f": {said.message}" if said and said.message else ""
            return _pending("node/not-ready", f"the node is not Ready{why}", f"see journalctl -u {KUBELET}")
        return None

    def _find_silence(self, api: Api, node: Node) -> FlexError | None:
        """Renewed after the restart: by the clock, or, since clocks are set, by another time than before."""
        lease = find_node_lease(api, node.name)
        if lease is not None and lease.renewed is not None:
            self._heartbeat = self._heartbeat or lease
            if lease.renewed != self._heartbeat.renewed or lease.renewed >= self._invocations[KUBELET].at:
                return None
        return _pending("node/silent", "kubelet has not renewed the node's Lease since it was started")

    def _find_instability(self) -> FlexError | None:
        if self.node is None:
            return None  # no pods are entrusted to it yet
        now = self.gate.clock.monotonic()
        youngest = max(each.seen for each in self._invocations.values())
        if now - youngest >= STABLE:
            return None
        return _pending(
            "node/unstable", f"Ready; watching its services for {STABLE - (now - youngest):.0f} s more"
        )


def _pending(code: str, message: str, hint: str = "") -> FlexError:
    return FlexError(message, code=code, transient=True, hint=hint)


def _too_late(unmet: FlexError, goal: str, deadline: Deadline) -> FlexError:
    return FlexError(
        f"the node did not {goal} within {deadline.elapsed:.0f} s: {unmet.message}",
        code=unmet.code,
        transient=True,
        hint=unmet.hint,
    )
