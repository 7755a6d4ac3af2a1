"""Everything that checks may look at: frozen, and each way out of the machine behind a small protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from flexnode.artifacts import Proxies
from flexnode.clock import Clock
from flexnode.components.inputs import Parts
from flexnode.errors import ArtifactError, FlexError
from flexnode.flows.findings import Findings
from flexnode.host.door import Host
from flexnode.kube.approval import Approval
from flexnode.model.artifact import Artifact
from flexnode.model.facts import Facts
from flexnode.model.spec import NodeSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class Ours:
    """What of the machine is the product's own work, so that nobody is warned of himself.

    `keys` are resource keys: of the ledger, and of the generations that were applied or began to be.
    """

    joined: bool = False
    certificate: bool = False  # kubelet has the cluster's certificate: no token is needed any more
    generation: str = ""
    node: str = ""  # the name of the Node that it is
    warning: str = ""  # what of the product's state is damaged, and what is used in its place
    failure: FlexError | None = None  # why the state cannot be read at all
    busy: str = ""  # what another process is doing to this machine just now
    keys: frozenset[str] = frozenset()
    trees: tuple[str, ...] = ()  # directories of kubelet, containerd and CNI that are owned as a whole

    @property
    def started(self) -> bool:
        """Whether a node of the product's was put here, be its join confirmed or not."""
        return self.joined or "unit:kubelet.service" in self.keys

    @property
    def installed(self) -> bool:
        """Whether a node's programs were put here, be it one or not."""
        return self.started or "unit:containerd.service" in self.keys

    def has(self, *keys: str) -> bool:
        return any(key in self.keys for key in keys)

    def has_path(self, path: str) -> bool:
        """Whether the product put `path` there, or what lies in it."""
        inside = path.rstrip("/") + "/"
        return any(
            name == path or name.startswith(inside)
            for kind, _, name in (key.partition(":") for key in self.keys)
            if kind in ("file", "link", "directory")
        ) or any(path == tree or path.startswith(tree.rstrip("/") + "/") for tree in self.trees)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reached:
    """An answer of the API server. A refusal to let us in is an answer too."""

    ready: bool = True  # by its own account
    clock_offset: timedelta | None = None  # how far this machine's clock is ahead of the server's


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteNode:
    """A Node object of the cluster."""

    name: str
    system_uuid: str = ""


class Cluster(Protocol):
    """What checks ask of a cluster, over a connection whose server is verified. Failures are KubeErrors."""

    def reach(self) -> Reached:
        """What `/readyz` answers. Raises if nobody does, or somebody else."""
        ...

    def authenticate(self) -> None:
        """Ask something that every authenticated client may ask; kube/unauthorized if we are not one."""
        ...

    def version(self) -> str:
        """The API server's version: v1.35.4."""
        ...

    def find_node(self, name: str) -> RemoteNode | None: ...

    def has_kube_proxy(self) -> bool | None:
        """Whether something makes Services work on nodes; None where we may not know."""
        ...

    def serving_approval(self) -> Approval:
        """Whether somebody approves kubelets' serving certificates, and by what that is seen."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What one source says about one file: its size where it has it, else why not."""

    source: str
    size: int | None = None
    error: ArtifactError | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Sought:
    """A file that the node needs, and where it was looked for. What is in the store is not looked for."""

    artifact: Artifact
    optional: bool = False  # a node works without it
    stored: bool = False
    answers: tuple[Answer, ...] = ()

    @property
    def found(self) -> bool:
        return self.stored or any(answer.error is None for answer in self.answers)

    @property
    def size(self) -> int | None:
        """In bytes, where anybody knows."""
        said = (answer.size for answer in self.answers if answer.size is not None)
        return next(said, self.artifact.size)


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """One machine before an operation. Whatever is None cannot be asked, and its checks are skipped."""

    host: Host
    spec: NodeSpec
    facts: Facts
    clock: Clock
    uid: int  # of the user who runs the product
    resolve: Callable[[str], Sequence[str]]  # a host name's addresses, or an ArtifactError
    parts: Parts | None = None
    no_parts: FlexError | None = None  # why there are none
    missing: Callable[[], Sequence[Artifact]] = tuple  # what has to come from elsewhere; asks no server
    search: Callable[[], Sequence[Sought]] | None = None  # asks every source, once however often it is called
    cluster: Cluster | None = None
    found: Findings | None = None  # what the cluster told just now, where nobody remembers it
    proxies: Proxies = field(default_factory=Proxies)  # the configured ones, passwords included
    sysctls: Mapping[str, str] = field(default_factory=dict)  # what the node needs the kernel to be set to
    sysctl_file: str = ""  # where it would say so
    ours: Ours = field(default_factory=Ours)

    @property
    def node_name(self) -> str:
        return self.spec.identity.name or self.facts.hostname.lower()
