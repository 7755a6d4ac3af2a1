"""A joined machine and its cluster in memory, time that things happen in, and progress that keeps books."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import get_ident
from typing import Any

from flexnode.clock import FakeClock, SystemClock
from flexnode.components.layout import CONTAINERD, KUBECONFIG, KUBELET, KUBELET_CERTIFICATE
from flexnode.host.fake import FakeHost
from flexnode.kube.fake import FakeCluster
from flexnode.kube.leases import NODE_LEASES
from flexnode.kube.nodes import NODES
from unit.kube import samples as kube

NODE = "node-1"
UUID = "6f1f0a5c-0f4e-4a4b-9a53-0a4f6f0e2f11"  # what the fake machine's firmware says
OTHER_UUID = "0a0b0c0d-0000-0000-0000-000000000001"
VERSION = "1.35.4"
NODE_PATH = f"{NODES}/{NODE}"
LEASE_PATH = f"{NODE_LEASES}/{NODE}"


class Timeline(FakeClock):
    """Virtual time in which things happen by themselves: `at` a moment, or at each `tick`.

    The machine's clock can be wrong, by `ahead`; everybody else goes by `true`. `speed`: how many seconds
    pass by themselves in a real one, for what waits for a network.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ahead = timedelta(0)
        self.speed = 0.0
        self._begun = SystemClock().monotonic()
        self._plans: list[tuple[float, Callable[[], None]]] = []
        self.ticks: list[Callable[[], None]] = []

    def now(self) -> datetime:
        return self.true + self.ahead

    def monotonic(self) -> float:
        return super().monotonic() + self.speed * (SystemClock().monotonic() - self._begun)

    @property
    def true(self) -> datetime:
        return super().now()

    def at(self, seconds: float, act: Callable[[], None]) -> None:
        self._plans.append((seconds, act))

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        due = [plan for plan in self._plans if plan[0] <= self.monotonic()]
        self._plans = [plan for plan in self._plans if plan not in due]
        for _, act in sorted(due, key=lambda plan: plan[0]):
            act()
        for tick in self.ticks:
            tick()


@dataclass
class Books:
    """Progress that remembers what was begun, said and ended; a step that fails ends with a mark.

    Steps nest within their thread.
    """

    told: list[str] = field(default_factory=list)
    _open: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def open(self) -> list[str]:
        return [title for stack in self._open.values() for title in stack]

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        self.told.append(title)
        self._open[get_ident()].append(title)
        try:
            yield
        except BaseException:
            self._end(title, "failed")
            raise
        self._end(title, "done")

    def note(self, text: str) -> None:
        self.told.append(f"  {text}")

    def _end(self, title: str, how: str) -> None:
        stack = self._open[get_ident()]
        assert stack, f"{title} ended twice"
        assert stack.pop() == title, f"{title} ended around another step"
        self.told.append(f"{title}: {how}")

    @property
    def notes(self) -> list[str]:
        return [line.strip() for line in self.told if line.startswith("  ")]


def working_host(*, joined: bool = True) -> FakeHost:
    """A machine on which both services of a node run."""
    host = FakeHost()
    for name in (CONTAINERD, KUBELET):
        host.units.place(name, enabled=True, active=True)
    if joined:
        host.files.place(KUBELET_CERTIFICATE, "certificate", mode=0o600)
        host.files.place(KUBECONFIG, "kubeconfig", mode=0o600)
    host.writes.clear()
    return host


def ready_node(**status: Any) -> dict[str, Any]:
    """A Node of this machine that is Ready with the wanted version; `status` in place of parts of it."""
    info = {"kubeletVersion": f"v{VERSION}", "systemUUID": UUID, "bootID": "boot"}
    conditions = [{"type": "Ready", "status": "True", "message": "kubelet is posting ready status"}]
    document = kube.node(NODE)
    document["status"] = {"nodeInfo": info, "conditions": conditions, **status}
    return document


def render_moment(clock: FakeClock, *, ago: float = 0.0) -> str:
    return (clock.now() - timedelta(seconds=ago)).isoformat()


def lease(clock: FakeClock, *, ago: float = 0.0) -> dict[str, Any]:
    """The Lease of this machine's Node, renewed some seconds ago."""
    return {"spec": {"holderIdentity": NODE, "renewTime": render_moment(clock, ago=ago)}}


def refuse_all(cluster: FakeCluster, code: int = 503, message: str = "the server is starting") -> None:
    """From now on the API server answers everything with this."""

    def before(_request: object) -> None:
        raise cluster.refuse(code, message)

    cluster.before = before


def answer_again(cluster: FakeCluster) -> None:
    cluster.before = lambda _request: None
