"""A composed node on a machine: it is brought about, is there the second time, and leaves without a trace."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from flexnode.components.joining import NodeInputs
from flexnode.components.node import compose_node
from flexnode.generation.generation import Generation
from flexnode.host.fake import FakeHost
from flexnode.resources.registry import make_handlers
from flexnode.resources.state import Member, Owned, State
from unit.components.samples import CASES, PAUSE, TOKEN
from unit.resources.samples import KeptContents

NODES = pytest.mark.parametrize("inputs", CASES.values(), ids=CASES)


class Contents(KeptContents):
    """Staged artifacts are what their name says; only the machine looks at them."""

    def __init__(self, folder: Path, generation: Generation) -> None:
        super().__init__(folder)
        self.secrets = {"bootstrap-token": TOKEN, "http-proxy": "http://p", "https-proxy": "http://p"}
        for need in generation.needs:
            (folder / need.sha256).write_text(need.name)

    def digest(self, content: object) -> str:
        if isinstance(content, Member):
            return super().digest(Member(artifact=content.artifact))
        return super().digest(content)  # type: ignore[arg-type]


def stock_machine() -> FakeHost:
    host = FakeHost()
    host.packages.present |= {"ca-certificates", "systemd-timesyncd"}
    host.kernel.swap.append("/dev/vda2")
    return host


def apply(host: FakeHost, generation: Generation, contents: Contents) -> dict[str, State]:
    """In the order of the generation; answers what was there before each change."""
    handlers = make_handlers()
    before: dict[str, State] = {}
    for each in generation.resources:
        handler = handlers[each.kind]
        found = handler.observe(host, each.name, each.want, contents)
        if not handler.matches(each.want, found, contents):
            before[each.key] = found
            handler.preserve(host, each.name, found, contents)
            handler.put(host, each.name, each.want, contents)
    return before


def leave(host: FakeHost, generation: Generation, before: dict[str, State], contents: Contents) -> list[str]:
    """In the reverse order; answers the Node objects that were deleted."""
    deleted: list[str] = []
    handlers = make_handlers(leave_node=deleted.append)
    for each in reversed(generation.resources):
        if isinstance(each.want, Owned):
            goal: State | None = msgspec.structs.replace(each.want, left=True)
        else:
            goal = before.get(each.key)
        if goal is not None:
            handlers[each.kind].put(host, each.name, goal, contents)
    host.units.reload_manager()
    return deleted


@NODES
def test_a_node_comes_about_and_leaves_without_a_trace(inputs: NodeInputs, tmp_path: Path) -> None:
    generation = compose_node(inputs)
    host, contents = stock_machine(), Contents(tmp_path, generation)
    archive = inputs.parts.artifacts["pause"].sha256
    host.runtime.references[archive] = (PAUSE,)
    stock = host.snapshot()

    before = apply(host, generation, contents)
    for unit in ("containerd.service", "kubelet.service"):
        assert host.units.find(unit).active
    assert PAUSE in host.runtime.images()
    assert not host.kernel.swaps()
    host.writes.clear()
    assert apply(host, generation, contents) == {}
    assert host.writes == []

    # What the others write while it is a node.
    host.files.place("/var/lib/kubelet/pki/kubelet-client-current.pem", "key")
    host.files.place("/etc/kubernetes/kubelet.conf", "kubeconfig")
    host.files.place("/var/log/pods/one/0.log", "log")
    host.files.place("/var/lib/containerd/metadata.db", "content")
    host.files.place("/etc/cni/net.d/10-containerd-net.conflist", "network")
    host.files.place("/var/lib/cni/networks/address", "one")
    host.network.interfaces.add("cni0")
    host.network.filters |= {"ip/nat/KUBE-SERVICES": (), "ip/kube-proxy/services": (), "ip/nat/CNI-DN-1": ()}

    name = inputs.spec.identity.name or "node-1"
    assert leave(host, generation, before, contents) == [name]
    left, there = host.snapshot(), stock
    # Images are in containerd's state, which is gone.
    assert {key: value for key, value in left.items() if key != "runtime"} == {
        key: value for key, value in there.items() if key != "runtime"
    }
