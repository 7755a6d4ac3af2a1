"""A stock machine, a cluster and sources as checks see them: all well, until a test says otherwise."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from flexnode.artifacts import Code as ArtifactCode
from flexnode.artifacts.failures import failure as artifact_failure
from flexnode.clock import FakeClock
from flexnode.components.inputs import Parts
from flexnode.errors import ArtifactError, Kind, KubeError
from flexnode.flows.preflight.check import Check, Finding, Level
from flexnode.flows.preflight.checks import CHECKS
from flexnode.flows.preflight.run import ask
from flexnode.flows.preflight.situation import Answer, Reached, RemoteNode, Situation, Sought
from flexnode.host.command import Completed
from flexnode.host.fake import FakeHost
from flexnode.kube import Code
from flexnode.kube.approval import Approval
from flexnode.kube.failures import failure as kube_failure
from flexnode.model import Arch, Artifact, Flavour, Format
from flexnode.model.credentials import Credentials
from flexnode.model.facts import Facts
from flexnode.model.machine import HostSpec, MachineSpec
from flexnode.model.spec import ClusterSpec, NodeSpec
from flexnode.secret import Secret

GIB = 1 << 30
UUID = "6f1f0a5c-0f4e-4a4b-9a53-0a4f6f0e2f11"
SERVER = "https://api.cluster.example:6443"
RELEASE = "6.1.0-28-amd64"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"

DF = (
    "df",
    "--block-size=1",
    "--output=target,size,avail,itotal,iavail",
    "/var/lib",
    "/usr/local/bin",
    "/var/lib",
    "/var/lib",
)
TIMEDATECTL = ("timedatectl", "show", "--property=NTPSynchronized", "--value")
NFT = ("nft", "list", "chains")
LEGACY = ("iptables-legacy-save", "-t", "filter")

ROUTES = (
    "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
    "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
)
SOCKETS = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def stock() -> FakeHost:
    """A freshly booted Debian 12, with what the checks read besides what every test of a host needs."""
    host = FakeHost()
    files = host.files
    for name in ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts"):
        files.place_link(f"/proc/self/ns/{name}", f"{name}:[4026531835]")
    files.place_directory("/sys/fs/bpf")
    files.place("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids rdma misc\n")
    files.place(
        f"/lib/modules/{RELEASE}/modules.dep",
        "kernel/fs/overlayfs/overlay.ko:\n"
        "kernel/net/bridge/br_netfilter.ko: kernel/net/bridge/bridge.ko\n"
        "kernel/net/netfilter/nf_tables.ko:\n",
    )
    files.place(
        "/proc/self/mountinfo",
        "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,discard\n"
        "25 22 0:23 / /run rw,nosuid,nodev,noexec shared:5 - tmpfs tmpfs rw,size=803516k\n",
    )
    files.place("/run/systemd/timesync/synchronized")
    files.place("/proc/net/route", ROUTES)
    files.place("/proc/net/tcp", SOCKETS)
    files.place("/sys/class/net/eth0/mtu", "1500\n")
    files.place("/proc/net/unix", "Num       RefCount Protocol Flags    Type St Inode Path\n")
    host.answers[DF] = printed(df("/", size=60 * GIB, free=50 * GIB))
    host.answers[NFT] = printed("")
    return host


def df(mount: str, *, size: int, free: int, inodes: int = 4_000_000, free_inodes: int = 3_900_000) -> str:
    """What df prints, for the four places that a node writes to, all on one file system."""
    row = f"{mount} {size} {free} {inodes or '-'} {free_inodes or '-'}\n"
    return "Mounted on 1B-blocks Avail Inodes IFree\n" + row * 4


def printed(text: str) -> Completed:
    return Completed(returncode=0, stdout=text.encode(), stderr=b"")


def listen(host: FakeHost, port: int, *, pid: int, name: str, program: str = "") -> None:
    """Let a process listen on a TCP port."""
    inode = 10_000 + port
    table = host.files.read("/proc/net/tcp").decode()
    line = (
        f"   0: 00000000:{port:04X} 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 {inode} 1\n"
    )
    host.files.place("/proc/net/tcp", table + line)
    run_process(host, pid, name, program, opened=f"socket:[{inode}]")


def listen_on_socket(host: FakeHost, path: str, *, pid: int, name: str, program: str = "") -> None:
    """Let a process listen on a Unix socket."""
    table = host.files.read("/proc/net/unix").decode()
    line = f"0000000000000000: 00000002 00000000 00010000 0001 01 77123 {path}\n"
    host.files.place("/proc/net/unix", table + line)
    run_process(host, pid, name, program, opened="socket:[77123]")


def run_process(host: FakeHost, pid: int, name: str, program: str, *, opened: str) -> None:
    host.files.place(f"/proc/{pid}/comm", f"{name}\n")
    host.files.place_link(f"/proc/{pid}/exe", program or f"/usr/bin/{name}")
    host.files.place_link(f"/proc/{pid}/fd/0", "/dev/null")
    host.files.place_link(f"/proc/{pid}/fd/7", opened)


@dataclass
class FakeCluster:
    """Answers as set; a KubeError in the place of an answer is raised."""

    reached: Reached | KubeError = field(default_factory=lambda: Reached(clock_offset=timedelta(seconds=1)))
    accepts: KubeError | None = None
    answers_version: str | KubeError = "v1.35.2"
    node: RemoteNode | KubeError | None = None
    kube_proxy: bool | KubeError | None = True
    approver: bool | KubeError | None = True
    approval: str = "so it looks"

    def reach(self) -> Reached:
        return _given(self.reached)

    def authenticate(self) -> None:
        _given(self.accepts)

    def version(self) -> str:
        return _given(self.answers_version)

    def find_node(self, name: str) -> RemoteNode | None:
        return _given(self.node)

    def has_kube_proxy(self) -> bool | None:
        return _given(self.kube_proxy)

    def serving_approval(self) -> Approval:
        return Approval(found=_given(self.approver), why=self.approval)


def _given(answer: Any) -> Any:
    if isinstance(answer, KubeError):
        raise answer
    return answer


def refused(code: Code, message: str = "so the server says") -> KubeError:
    return kube_failure(code, message)


def no_file(code: ArtifactCode, message: str = "so the source says") -> ArtifactError:
    return artifact_failure(code, message)


def artifact(component: str, **changes: Any) -> Artifact:
    fields: dict[str, Any] = {
        "component": component,
        "version": "1.35.4",
        "arch": Arch.AMD64,
        "flavour": Flavour.RELEASE,
        "format": Format.TAR_GZ,
        "sha256": hashlib.sha256(component.encode()).hexdigest(),
        "size": 50_000_000,
        "urls": (f"https://releases.example/{component}",),
    }
    return Artifact(**{**fields, **changes})


KUBELET = artifact("kubelet")
CONTAINERD = artifact("containerd")
FOUND = (
    Sought(artifact=KUBELET, answers=(Answer(source="https://mirror.example/node", size=50_000_000),)),
    Sought(artifact=CONTAINERD, stored=True),
)


def searched(*sought: Sought) -> Callable[[], Sequence[Sought]]:
    return lambda: sought


def knows(*unknown: str, silent: bool = False) -> Callable[[str], Sequence[str]]:
    """A resolver that knows every name but `unknown`; a silent one never answers."""

    def resolve(host: str) -> Sequence[str]:
        if silent:
            raise no_file(ArtifactCode.DNS_TIMEOUT, "its name could not be looked up: try again")
        if host in unknown:
            raise no_file(ArtifactCode.DNS_NXDOMAIN, "its name does not exist in DNS")
        return ("192.0.2.10",)

    return resolve


FACTS = Facts(
    arch=Arch.AMD64,
    os_id="debian",
    os_version="12",
    codename="bookworm",
    cpus=4,
    memory=8 * GIB,
    hostname="node-1",
    system_uuid=UUID,
    kernel=(6, 1),
)

SPEC = NodeSpec(
    cluster=ClusterSpec(
        server=SERVER,
        ca="PEM",
        dns_service_ip="10.96.0.10",
        service_cidr="10.96.0.0/12",
        pod_cidr="10.244.0.0/16",
    ),
    credentials=Credentials(bootstrap_token=Secret("abcdef.0123456789abcdef")),
)


def host_spec(spec: NodeSpec = SPEC, **changes: Any) -> NodeSpec:
    return replace(spec, machine=MachineSpec(host=HostSpec(**changes)))


PARTS = Parts(
    kubernetes="1.35.4",
    artifacts={"kubelet": KUBELET, "containerd": CONTAINERD},
    packages=("conntrack", "socat"),
    pause_image="registry.example/pause:3.10",
)


def situation(host: FakeHost | None = None, **changes: Any) -> Situation:
    """All well, but for `changes`."""
    fields: dict[str, Any] = {
        "host": host or stock(),
        "spec": SPEC,
        "facts": FACTS,
        "clock": FakeClock(),
        "uid": 0,
        "resolve": knows(),
        "parts": PARTS,
        "missing": lambda: (KUBELET,),
        "search": searched(*FOUND),
        "cluster": FakeCluster(),
        "sysctls": {"net.ipv4.ip_forward": "1", "vm.overcommit_memory": "1"},
        "sysctl_file": "/etc/sysctl.d/90-aks-flex-node.conf",
    }
    return Situation(**{**fields, **changes})


def check_named(name: str) -> Check:
    return next(check for check in CHECKS if check.name == name)


def findings(name: str, asked: Situation) -> tuple[Finding, ...]:
    """What the check of that name finds; that it changes nothing is held on the way."""
    found = ask(check_named(name), asked)
    assert asked.host.writes == [], f"{name} changed the machine"  # type: ignore[attr-defined]
    return found


@dataclass(frozen=True, kw_only=True)
class Case:
    """One way for a machine to be, and what a check must say about it."""

    about: str
    check: str
    level: Level
    code: str = ""
    says: str = ""  # in the message
    hint: str = ""  # in the remedy
    transient: bool = False
    host: Callable[[FakeHost], None] = lambda _host: None
    changes: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.check}: {self.about}"

    def hold(self) -> None:
        machine = stock()
        self.host(machine)
        found = findings(self.check, situation(machine, **self.changes))
        matching = [each for each in found if each.level is self.level and each.code == self.code]
        assert matching, found
        (finding,) = matching
        assert finding.name == self.check
        assert self.says in finding.message
        assert self.hint in finding.hint
        if self.level in (Level.ERROR, Level.WARNING):
            assert finding.hint, "no remedy is named"
            assert self.code
        if self.level is Level.ERROR:
            assert finding.kind is (Kind.TRANSIENT if self.transient else Kind.TERMINAL)
            assert self.hint, "the case must say which remedy it expects"
        if self.level in (Level.OK, Level.SKIPPED):
            assert len(found) == 1, found
