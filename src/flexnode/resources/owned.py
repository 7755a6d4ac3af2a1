"""What kubelet, containerd and CNI write: never compared, but it has a way to leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flexnode.errors import HostError
from flexnode.host.door import Host
from flexnode.resources.handler import Contents
from flexnode.resources.running import find_images, systemd_runs
from flexnode.resources.state import Absent, Owned, State
from flexnode.resources.trees import remove_trees, tree_is_there

TASKS = "/run/containerd/io.containerd.runtime.v2.task/k8s.io"
"""Where the runtime has a directory for each container that runs."""


class OwnedHandler:
    """Nothing ever has to be done for owned state to be there; with `left` set, all of it has to go.

    Only then is it looked at. Pods count as there while the runtime answers, the Node object always: neither
    can be seen from here. So `leave_node` may be asked again for a node that is gone, and answers then as if
    it had just deleted it.
    """

    def __init__(self, leave_node: Callable[[str], None] | None = None) -> None:
        self._leave_node = leave_node

    def observe(self, host: Host, name: str, want: State, contents: Contents) -> State:
        if not isinstance(want, Owned) or not want.left:
            return want
        chains = [chain.split("/") for chain in _find_chains(host, want)]
        found = Owned(
            pods=want.pods and _has_pods(host),
            node=want.node,
            slices=tuple(each for each in want.slices if host.units.find(each).active),
            trees=tuple(tree for tree in want.trees if tree_is_there(host.files, tree)),
            links=_find_links(host, want.links),
            chains=tuple(start for start in want.chains if any(c[-1].startswith(start) for c in chains)),
            tables=tuple(table for table in want.tables if any(c[1] == table for c in chains)),
        )
        return found if found != Owned() else Absent()

    def matches(self, want: State, found: State, contents: Contents) -> bool:
        stays = isinstance(want, Owned) and not want.left
        return stays or not isinstance(found, Owned)

    def put(self, host: Host, name: str, state: State, contents: Contents) -> None:
        if isinstance(state, Absent):
            raise TypeError(f"owned:{name} leaves by the value that names its parts, with `left` set")
        if not isinstance(state, Owned) or not state.left:
            return
        if state.pods and _has_pods(host):
            host.runtime.stop_all_pods()
        if state.node:
            self._delete_node(state.node)
        for unit in state.slices:
            host.units.stop(unit)
        remove_trees(host.files, state.trees)
        for link in _find_links(host, state.links):
            host.network.remove_link(link)
        if state.chains:
            host.network.remove_chains(state.chains)
        if state.tables:
            host.network.remove_tables(state.tables)

    def preserve(self, host: Host, name: str, found: State, contents: Contents) -> None:
        """Nothing is kept: what others wrote for a node is worth nothing without it."""

    def _delete_node(self, node: str) -> None:
        if self._leave_node is None:
            raise HostError(
                f"the Node object {node} cannot be deleted without access to its cluster",
                code="owned/no-cluster",
                hint=f"kubectl delete node {node}",
            )
        self._leave_node(node)


def _has_pods(host: Host) -> bool:
    """While the runtime is down, its pods are there as long as it has not cleaned up after them."""
    if not systemd_runs(host):
        return False
    if find_images(host) is not None:
        return True
    return host.files.find(TASKS) is not None and bool(host.files.list(TASKS))


def _find_chains(host: Host, want: Owned) -> Sequence[str]:
    """All of them, where any is asked for: each packet filter is a program to run."""
    return host.network.chains() if want.chains or want.tables else ()


def _find_links(host: Host, names: Sequence[str]) -> tuple[str, ...]:
    """The interfaces of these names, or that begin as the names with a trailing * do."""
    starts = tuple(name[:-1] for name in names if name.endswith("*"))
    return tuple(link for link in host.network.links() if link in names or link.startswith(starts))
