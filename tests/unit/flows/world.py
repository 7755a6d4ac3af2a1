"""A whole small world: a machine in memory with a kubelet that joins, a cluster that answers over HTTPS, and
a directory with the files of a node. Flows run in it from end to end, and nothing leaves the process.
"""

from __future__ import annotations

import gzip
import hmac
import io
import json
import tarfile
import threading
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import format_datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from flexlab.pki import CertificateAuthority, Identity, create_authority
from flexnode.catalog import load_catalog
from flexnode.catalog.overlay import render_overlay
from flexnode.components.layout import (
    BOOTSTRAP_KUBECONFIG,
    CONTAINERD,
    KUBECONFIG,
    KUBELET,
    KUBELET_CERTIFICATE,
)
from flexnode.config import Resolved, load_config
from flexnode.errors import KubeError
from flexnode.flows.bootstrap import BootstrapOptions, bootstrap, prepare_machine
from flexnode.flows.workplace import Workplace
from flexnode.generation import Outcome, StateDirectory
from flexnode.host.command import Completed
from flexnode.host.fake import FakeHost
from flexnode.kube import Code, Content, Request
from flexnode.kube.fake import FakeCluster
from flexnode.kube.trust import CLUSTER_INFO
from flexnode.model import Arch, Artifact, Flavour, Format, Member
from unit.flows.preflight.samples import GIB, df, printed, stock
from unit.flows.samples import LEASE_PATH, NODE, NODE_PATH, UUID, Books, Timeline, lease, ready_node
from unit.kube.api_server import ApiServer, Reply, Seen, as_json, refusal, serve

TOKEN = "abcdef.0123456789abcdef"
CATALOG = load_catalog()
SYSTEM = "/api/v1/namespaces/kube-system"

_STATUS = {
    Code.UNAUTHORIZED: (401, "Unauthorized", ""),
    Code.FORBIDDEN: (403, "Forbidden", ""),
    Code.NOT_FOUND: (404, "NotFound", ""),
    Code.CONFLICT: (409, "Conflict", ""),
    Code.ALREADY_EXISTS: (409, "AlreadyExists", ""),
    Code.DISRUPTION_BUDGET: (429, "TooManyRequests", "DisruptionBudget"),
    Code.SERVER_ERROR: (503, "ServiceUnavailable", ""),
}


class Answers(dict[tuple[str, ...], Completed]):
    """What programs print, and df about whatever paths exist by now."""

    def get(self, argv: Any, default: Any = None) -> Any:
        found = super().get(argv, default)
        if found is not None or argv[0] != "df":
            return found
        head, row, *_ = df("/", size=60 * GIB, free=50 * GIB).splitlines(keepends=True)
        return printed(head + row * (len(argv) - 3))


@dataclass
class World:
    """Everything that a test changes. `workplace` is what a new process would see of it."""

    folder: Path
    host: FakeHost = field(default_factory=stock)
    clock: Timeline = field(default_factory=Timeline)
    books: Books = field(default_factory=Books)
    authority: CertificateAuthority = field(default_factory=lambda: create_authority("kubernetes"))
    accepted: str = TOKEN  # the bootstrap token that the cluster knows
    broken: set[str] = field(default_factory=set)  # versions whose kubelet never gets Ready
    api_down: bool = False
    approves: bool = True  # whether somebody signs what kubelet asks for
    front: Callable[[Seen], Reply | None] = lambda _seen: None  # what answers in the API server's place
    stop: Callable[[], bool] = lambda: False
    config: dict[str, Any] = field(default_factory=dict)
    cluster_info: dict[str, str] = field(default_factory=dict)  # what strangers are shown
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.cluster = FakeCluster(clock=self.clock, version="v1.35.2")
        self.cluster.put(f"{SYSTEM}/services/kube-dns", {"spec": {"clusterIP": "10.96.0.10"}})
        self.cluster.put("/apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy", {})
        self.host.answers = Answers(self.host.answers)
        self.host.packages.archive |= {name: () for name in CATALOG.packages("bookworm")}
        self.host.packages.present.add("systemd-timesyncd")
        self.host.units.when_started[KUBELET] = self.run_kubelet
        self.clock.ticks.append(self.run_kubelet)
        self.mirror = self.folder / "mirror"
        self.overlay = self.folder / "overlay.json"
        lay_out_mirror(self.mirror, self.overlay)

    @property
    def directory(self) -> StateDirectory:
        return StateDirectory(root=self.folder / "state")

    @property
    def workplace(self) -> Workplace:
        return Workplace(
            host=self.host,
            clock=self.clock,
            directory=self.directory,
            progress=self.books,
            find_kubelet_fault=lambda: "",
            stop=lambda: self.stop(),
        )

    def connect(self, server: ApiServer) -> None:
        """The configuration that a user of this cluster would write."""
        self.server = server
        self.config = {
            "apiVersion": "flexnode.io/v1",
            "kind": "NodeConfig",
            "cluster": {"server": server.url, "ca": server.ca},
            "auth": {"bootstrapToken": TOKEN},
            "artifacts": {"sources": [str(self.mirror)], "overlays": [str(self.overlay)]},
        }

    def publish(self) -> None:
        """Show the cluster's CA to strangers, signed with the token, as a bootstrap signer does."""
        ca = b64encode(self.server.ca.encode()).decode()
        cluster = {"server": self.server.url, "certificate-authority-data": ca}
        text = json.dumps({"clusters": [{"name": "", "cluster": cluster}]})
        identifier, _, key = TOKEN.partition(".")
        head = _encode(json.dumps({"alg": "HS256", "kid": identifier}).encode())
        signature = hmac.digest(key.encode(), f"{head}.{_encode(text.encode())}".encode(), "sha256")
        self.cluster_info = {
            "kubeconfig": text,
            f"jws-kubeconfig-{identifier}": f"{head}..{_encode(signature)}",
        }

    def resolved(self, *, complete: bool = True, **sections: Any) -> Resolved:
        folder = self.folder / "etc"
        folder.mkdir(exist_ok=True)
        path = folder / "config.json"
        path.touch(mode=0o600)
        path.write_text(json.dumps({**self.config, **sections}))
        return load_config(path, environ={}, image=folder / "none", complete=complete)

    def bootstrap(self, *, retry: bool = False, **sections: Any) -> Outcome:
        options = BootstrapOptions(retry=retry)
        return bootstrap(self.resolved(**sections), self.workplace, options)

    def prepare(self, **sections: Any) -> Outcome:
        """What needs no cluster, from a configuration that names none."""
        complete = {"cluster": {}, "auth": {}, **sections}
        return prepare_machine(self.resolved(complete=False, **complete), self.workplace, BootstrapOptions())

    def run_kubelet(self) -> None:
        """What kubelet would do in this moment: join if it can, and say that it is alive."""
        with self._lock:
            if not self.host.units.is_active(KUBELET) or not self.host.units.is_active(CONTAINERD):
                return
            if self.host.files.find(KUBELET_CERTIFICATE) is None and not self._is_let_in():
                return
            if self.api_down:
                return
            version = self.host.files.read("/usr/local/bin/kubelet").decode().removeprefix("kubelet ")
            ready = "False" if version in self.broken else "True"
            found = self.cluster.get(NODE_PATH) or {}
            document = ready_node(
                nodeInfo={"kubeletVersion": f"v{version}", "systemUUID": UUID},
                conditions=[{"type": "Ready", "status": ready, "message": "so kubelet says"}],
            )
            document["spec"] = found.get("spec", document["spec"])
            self.cluster.put(NODE_PATH, document)
            self.cluster.put(LEASE_PATH, lease(self.clock))

    def _is_let_in(self) -> bool:
        """Ask for the certificate with the bootstrap token."""
        files = self.host.files
        if self.api_down or not self.approves or files.find(BOOTSTRAP_KUBECONFIG) is None:
            return False
        if self.accepted not in files.read(BOOTSTRAP_KUBECONFIG).decode():
            return False
        pair = self.authority.issue(
            Identity(common_name=f"system:node:{NODE}", organizations=("system:nodes",))
        )
        files.place(KUBELET_CERTIFICATE, "the certificate", mode=0o600)
        files.place(KUBECONFIG, self._render_kubeconfig(pair.certificate, pair.key.reveal()), mode=0o600)
        return True

    def _render_kubeconfig(self, certificate: bytes, key: str) -> str:
        cluster = {
            "server": self.server.url,
            "certificate-authority-data": b64encode(self.server.ca.encode()).decode(),
        }
        user = {
            "client-certificate-data": b64encode(certificate).decode(),
            "client-key-data": b64encode(key.encode()).decode(),
        }
        return json.dumps(
            {
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": user}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )

    def answer(self, seen: Seen) -> Reply:
        """As the API server: 401 for strangers, all else from memory."""
        if (reply := self.front(seen)) is not None:
            return reply
        date = {"Date": format_datetime(self.clock.true, usegmt=True)}
        known = seen.user == f"system:node:{NODE}"
        known = known or seen.headers.get("Authorization") == f"Bearer {self.accepted}"
        if self.api_down:
            return refusal(503, "the server is starting", headers=date)
        if seen.path == CLUSTER_INFO and self.cluster_info:
            return as_json({"kind": "ConfigMap", "data": self.cluster_info}, headers=date)
        if not known:
            return refusal(401, "Unauthorized", headers=date)
        parts = urlsplit(seen.path)
        request = Request(
            path=parts.path,
            method=seen.method,
            query=tuple(parse_qsl(parts.query)),
            body=seen.body or None,
            content=Content(seen.headers.get("Content-Type") or Content.JSON),
        )
        try:
            with self._lock:
                body = self.cluster.send(request)
        except KubeError as error:
            status, reason, cause = _STATUS[Code(error.code)]
            return refusal(status, error.message, reason=reason, cause=cause, headers=date)
        if body == b"ok":
            return Reply(body=body, headers=date)
        return as_json(json.loads(body), headers=date)

    def memory(self) -> dict[str, Any]:
        """What the state directory has decided, without times."""
        state = self.directory.load_state().value
        return {
            "current": state.current if state else None,
            "desired": state.desired if state else None,
            "journal": self.directory.journal.exists(),
        }


@contextmanager
def open_world(folder: Path) -> Iterator[World]:
    world = World(folder)
    with serve(world.answer, authority=world.authority) as server:
        world.connect(server)
        yield world


def lay_out_mirror(mirror: Path, overlay: Path) -> None:
    """Files of every release set, as somebody built them, and the overlay that lists them."""
    (mirror / "sha256").mkdir(parents=True)
    artifacts = {}
    for minor in CATALOG.document.release_sets:
        chosen = CATALOG.release_set(minor)
        for component in ("kubelet", "kubectl", "containerd", "runc", "cni-plugins"):
            artifact, data = _build(component, chosen.components[component])
            artifacts[artifact.component, artifact.version] = artifact
            (mirror / "sha256" / artifact.sha256).write_bytes(data)
    overlay.write_bytes(render_overlay(artifacts.values()))


def _build(component: str, version: str) -> tuple[Artifact, bytes]:
    kind = CATALOG.document.components[component]
    contents = {path: f"{path} {version}".encode() for path in kind.members}
    data = f"{component} {version}".encode() if kind.format is Format.FILE else _pack(contents)
    artifact = Artifact(
        component=component,
        version=version,
        arch=Arch.AMD64,
        flavour=Flavour.SOURCE,
        format=kind.format,
        sha256=sha256(data).hexdigest(),
        size=len(data),
        members=tuple(
            Member(path=path, sha256=sha256(content).hexdigest()) for path, content in contents.items()
        ),
    )
    return artifact, data


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _pack(contents: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, content in contents.items():
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(content), 0o755
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)
