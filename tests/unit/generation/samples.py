"""A small node that has a bit of everything, on a machine in memory, with its state on a real disk."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flexnode.clock import FakeClock
from flexnode.errors import FlexError, HostError
from flexnode.generation import (
    Activation,
    Deadline,
    DiskLedger,
    Generation,
    Moment,
    Name,
    Need,
    StateDirectory,
    StoredContents,
    compose,
)
from flexnode.host.fake import FakeHost
from flexnode.resources import Disruption, Phase, Resource
from flexnode.resources.registry import make_handlers
from flexnode.resources.state import (
    Directory,
    File,
    Group,
    Image,
    Link,
    Member,
    Module,
    Owned,
    Packages,
    Secret,
    Swap,
    Sysctl,
    Text,
    Unit,
)
from flexnode.secret import Secret as SecretValue

TOKEN = "abcdef.0123456789abcdef"
CERTIFICATE = "/var/lib/kubelet/pki/kubelet-client-current.pem"
BOOTSTRAP_CONFIG = "/etc/kubernetes/bootstrap-kubelet.conf"
CONTAINERD_UNIT = "[Service]\nExecStart=/usr/local/bin/containerd\n[Install]\nWantedBy=multi-user.target\n"
KUBELET_UNIT = "[Service]\nExecStart=/usr/local/bin/kubelet\n[Install]\nWantedBy=multi-user.target\n"
JOURNALD_DROP_IN = "/etc/systemd/system/systemd-journald.service.d/50-node.conf"


class Crash(BaseException):
    """kill -9, at a moment of a test's choice."""


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def make_archive(members: dict[str, bytes]) -> bytes:
    """A tar of these files, the same bytes each time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(data), 0o755
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


KUBELETS = {version: f"kubelet {version}".encode() for version in ("1.34.0", "1.35.0")}
CONTAINERD = make_archive({"bin/containerd": b"containerd 2", "bin/ctr": b"ctr 2"})
PAUSE = b"an archive of the pause image"
ORIGIN = {sha256(data): data for data in (*KUBELETS.values(), CONTAINERD, PAUSE)}
PAUSE_IMAGE = "registry.invalid/pause:3.10"


def text(path: str, content: str, **rest: Any) -> Resource:
    return Resource(key=f"file:{path}", want=File(content=Text(text=content)), **rest)


def make_node(*, kubelet: str = "1.34.0", containerd_config: str = "version = 3\n") -> Generation:
    """A whole node. Versions and configuration differ between generations, and so does what is optional."""
    newer = kubelet != "1.34.0"
    resources = [*_machine(containerd_config, newer), *_node(kubelet, newer), *_owned()]
    needs = [
        Need(sha256=sha256(CONTAINERD), name="containerd 2"),
        Need(sha256=sha256(KUBELETS[kubelet]), name=f"kubelet {kubelet}"),
        Need(sha256=sha256(PAUSE), name="pause 3.10"),
    ]
    return compose(resources, needs=needs, kubernetes=kubelet)


def _machine(containerd_config: str, newer: bool) -> list[Resource]:
    restarts = ("containerd.service",)
    optional = [
        Resource(key="directory:/etc/systemd/system/systemd-journald.service.d", want=Directory()),
        text(JOURNALD_DROP_IN, "[Journal]\n", restarts=("systemd-journald.service",)),
        # The newer node has a file where this one has a link.
        Resource(key="link:/usr/local/bin/crictl", want=Link(target="/opt/crictl/crictl")),
    ]
    instead = [
        text("/usr/local/bin/crictl", "#!/bin/sh\n"),
        Resource(
            key="directory:/etc/systemd/system/containerd.service.d",
            want=Directory(),
            after=("file:/etc/systemd/system/containerd.service",),
        ),
        text(
            "/etc/systemd/system/containerd.service.d/10-limits.conf",
            "[Service]\nTasksMax=infinity\n",
            restarts=restarts,
            disruption=Disruption.RESTART_CONTAINERD,
        ),
        text("/etc/sysctl.d/91-more.conf", "vm.overcommit_memory=1\n"),
    ]
    return [
        Resource(key="module:br_netfilter", want=Module()),
        Resource(key="sysctl:net.ipv4.ip_forward", want=Sysctl(value="1")),
        Resource(
            key="sysctl:net.bridge.bridge-nf-call-iptables",
            want=Sysctl(value="1"),
            after=("module:br_netfilter",),
        ),
        text("/etc/sysctl.d/90-node.conf", "net.ipv4.ip_forward=1\n"),
        Resource(key="swap:all", want=Swap()),
        Resource(key="group:node", want=Group()),
        Resource(key="packages:tools", want=Packages(installed=("conntrack", "curl"))),
        text("/etc/crictl.yaml", "runtime-endpoint: unix:///run/containerd/containerd.sock\n"),
        Resource(key="directory:/etc/containerd", want=Directory()),
        text(
            "/etc/containerd/config.toml",
            containerd_config,
            restarts=restarts,
            disruption=Disruption.RESTART_CONTAINERD,
        ),
        Resource(
            key="file:/usr/local/bin/containerd",
            want=File(content=Member(artifact=sha256(CONTAINERD), path="bin/containerd"), mode=0o755),
            restarts=restarts,
        ),
        text("/etc/systemd/system/containerd.service", CONTAINERD_UNIT, restarts=restarts),
        *(instead if newer else optional),
        Resource(
            key="unit:containerd.service",
            want=Unit(enabled=True, active=True),
            after=("file:/etc/systemd/system/containerd.service", "file:/usr/local/bin/containerd"),
        ),
        Resource(
            key=f"image:{PAUSE_IMAGE}",
            want=Image(archive=sha256(PAUSE)),
            after=("unit:containerd.service",),
        ),
    ]


def _node(kubelet: str, newer: bool) -> list[Resource]:
    restarts = ("kubelet.service",)
    joined: dict[str, Any] = {"phase": Phase.JOINED, "restarts": restarts}
    return [
        Resource(key="directory:/etc/kubernetes", want=Directory(), phase=Phase.JOINED),
        Resource(
            key=f"file:{BOOTSTRAP_CONFIG}",
            want=File(
                content=Secret(template="token: {{bootstrap-token}}\n", names=("bootstrap-token",)),
                mode=0o600,
            ),
            until=CERTIFICATE,
            **joined,
        ),
        text("/etc/kubernetes/kubelet.json", f'{{"maxPods": {250 if newer else 110}}}\n', **joined),
        Resource(
            key="file:/usr/local/bin/kubelet",
            want=File(content=Member(artifact=sha256(KUBELETS[kubelet])), mode=0o755),
            restarts=restarts,
            disruption=Disruption.RESTART_KUBELET,
            pods_rely_on=f"kubelet {kubelet.rpartition('.')[0]}",
        ),
        text("/etc/systemd/system/kubelet.service", KUBELET_UNIT, restarts=restarts),
        Resource(key="owned:kubelet-state", want=Owned(trees=("/var/lib/kubelet",)), phase=Phase.JOINED),
        Resource(
            key="unit:kubelet.service",
            want=Unit(enabled=True, active=True),
            phase=Phase.JOINED,
            after=(
                "file:/etc/systemd/system/kubelet.service",
                "unit:containerd.service",
                f"image:{PAUSE_IMAGE}",
                "owned:kubelet-state",
            ),
        ),
    ]


def _owned() -> list[Resource]:
    """What has to leave first comes last."""
    return [
        Resource(
            key="owned:node",
            want=Owned(node="node-1"),
            phase=Phase.JOINED,
            after=("unit:kubelet.service",),
        ),
        Resource(key="owned:pods", want=Owned(pods=True), phase=Phase.JOINED, after=("owned:node",)),
    ]


def make_host() -> FakeHost:
    """A machine with a user's own things on it, some of them where the product wants to be."""
    host = FakeHost()
    host.files.place("/etc/crictl.yaml", "debug: true\n", mode=0o640, xattrs={"user.note": b"mine"})
    host.files.place("/etc/mine.conf", "mine\n")
    host.kernel.swap.append("/dev/sda2")
    host.runtime.references[sha256(PAUSE)] = (PAUSE_IMAGE,)
    host.units.when_started["kubelet.service"] = lambda: _run_node(host)
    return host


def _run_node(host: FakeHost) -> None:
    host.files.place(CERTIFICATE, "certificate")
    host.runtime.pods[:] = ["web"]


@dataclass
class Trouble:
    """A verification that says what it is told to, and counts."""

    failing: set[str] = field(default_factory=set)  # versions of Kubernetes
    seen: list[str] = field(default_factory=list)

    def __call__(self, generation: Generation, deadline: Deadline) -> None:
        self.seen.append(generation.kubernetes)
        if generation.kubernetes in self.failing:
            raise HostError(
                "the Node does not become Ready",
                code="node/not-ready",
                transient=True,
                hint="see kubelet's log",
            )


@dataclass
class Shelter:
    """What the cluster knows of the node: whether pods may come. `refuses` is why they cannot go."""

    hook: Callable[[str], None]
    cordoned: bool = False
    refuses: FlexError | None = None
    silent: bool = False  # nobody answers
    drained: int = 0

    def drain(self, generation: Generation, cordoning: Callable[[], None], /) -> None:
        self._ask(generation)
        if not self.cordoned:
            cordoning()
        self.hook("before cordon")
        self.cordoned = True
        self.hook("after cordon")
        if self.refuses is not None:
            raise self.refuses
        self.drained += 1
        self.hook("after drain")

    def uncordon(self, generation: Generation, /) -> None:
        self._ask(generation)
        self.hook("before uncordon")
        self.cordoned = False
        self.hook("after uncordon")

    def _ask(self, generation: Generation) -> None:
        assert generation.resources, "of which node is this?"
        if self.silent:
            raise FlexError("nobody answers", code="kube/unreachable", transient=True)


def watch_nothing(_moment: Moment, _name: Name, _key: str) -> None:
    pass


@dataclass
class Lab:
    """A machine and its state directory. Every `activation` is a new process over the same two."""

    folder: Path
    host: FakeHost = field(default_factory=make_host)
    clock: FakeClock = field(default_factory=FakeClock)
    verify: Trouble = field(default_factory=Trouble)
    left_nodes: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    online: bool = True
    observer: Callable[[Moment, Name, str], None] = watch_nothing
    stop: Callable[[], bool] = lambda: False
    secrets: dict[str, str] = field(default_factory=lambda: {"bootstrap-token": TOKEN})

    def __post_init__(self) -> None:
        self.shelter = Shelter(hook=lambda moment: self.host.hook(moment))

    @property
    def directory(self) -> StateDirectory:
        return StateDirectory(root=self.folder)

    @property
    def ledger(self) -> DiskLedger:
        return DiskLedger(self.directory.ledger)

    @property
    def contents(self) -> StoredContents:
        values = {name: (lambda value=value: SecretValue(value)) for name, value in self.secrets.items()}
        return StoredContents(self.directory, secrets=values)

    @property
    def activation(self) -> Activation:
        return Activation(
            host=self.host,
            handlers=make_handlers(leave_node=self._leave_node),
            contents=self.contents,
            directory=self.directory,
            ledger=self.ledger,
            clock=self.clock,
            fetch=self._fetch,
            verify=self.verify,
            evacuation=self.shelter,
            observer=self.observer,
            stop=self.stop,
        )

    def _fetch(self, needs: Sequence[Need], /) -> None:
        store = self.contents.store
        for need in needs:
            if not self.online:
                raise FlexError("no source can be reached", code="artifact/connect-failed", transient=True)
            self.fetched.append(need.name)
            incoming = self.folder.parent / "incoming"
            incoming.write_bytes(ORIGIN[need.sha256])
            store.add(incoming, need.sha256)

    def _leave_node(self, name: str) -> None:
        """Takes credentials, as a real cluster does."""
        if self.host.files.find(CERTIFICATE) is None:
            raise FlexError("no credentials are left to delete the node with", code="kube/unauthorized")
        self.left_nodes.append(name)

    def memory(self) -> dict[str, Any]:
        """What the state directory holds, without the times in it."""
        directory, ledger, contents = self.directory, self.ledger, self.contents
        loaded = directory.load_state()
        state = loaded.value
        return {
            "warning": loaded.warning,
            "current": state.current if state else None,
            "previous": state.previous if state else None,
            "rejected": sorted(state.rejected) if state else [],
            "desired": state.desired if state else None,
            "cordoned": (state.cordoned if state else None, self.shelter.cordoned),
            "generations": directory.known_generations(),
            "ledger": {key: ledger.find(key) for key in ledger.touched()},
            "blobs": contents.blobs.digests(),
            "store": contents.store.digests(),
            "members": sorted(p.name for p in directory.members.glob("sha256/*")),
            "journal": directory.journal.exists(),
        }
