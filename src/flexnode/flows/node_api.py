"""The API server, asked as the node itself: with kubelet's own certificate, the way kubelet goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from flexnode.artifacts import Proxies
from flexnode.clock import Clock
from flexnode.components.layout import KUBECONFIG, KUBELET_CERTIFICATE
from flexnode.generation.directory import StateDirectory
from flexnode.generation.generation import Generation
from flexnode.host.door import Host
from flexnode.kube import Code, Connection, KubeClient, parse_kubeconfig
from flexnode.resources.state import Owned

Connect = Callable[[], KubeClient]

NAME_CHANGED = "join/name-changed"

UNREACHABLE = frozenset(
    {
        Code.UNREACHABLE,
        Code.CONNECTION_LOST,
        Code.TIMEOUT,
        Code.DNS,
        Code.SERVER_ERROR,
        Code.THROTTLED,
    }
)
"""What says nothing about this node. A proxy that refuses is not among it: the change may have named it."""


def has_joined(host: Host) -> bool:
    """Whether kubelet has its certificate, and with it a kubeconfig: from then on the machine is a node."""
    return all(host.files.find(path) is not None for path in (KUBELET_CERTIFICATE, KUBECONFIG))


def is_same_machine(theirs: str, ours: str) -> bool:
    """By their system UUIDs. A machine without one of its own, or a Node that tells none, proves nothing."""
    return not theirs or not ours or theirs.lower() == ours.lower()


def read_connection(host: Host) -> Connection:
    """The way to the cluster that kubelet wrote down when it joined."""
    return parse_kubeconfig(host.files.read(KUBECONFIG), origin=KUBECONFIG, folder=Path(KUBECONFIG).parent)


def make_connect(host: Host, clock: Clock, proxies: Proxies | None = None) -> Connect:
    """How to get a client; its certificate is read again whenever kubelet has renewed it.

    kubelet's kubeconfig says where the cluster is, so that neither leaving nor going back needs the user's
    configuration, which may be broken or gone by then.
    """

    def connect() -> KubeClient:
        connection = read_connection(host)
        proxy = proxies.find(connection.server) if proxies else None
        if proxy is not None:
            connection = replace(connection, proxy=proxy.url)
        return KubeClient(connection, clock)

    return connect


def find_node_name(generation: Generation) -> str | None:
    """The name that a generation registers its Node with; None for one that joins nothing."""
    owned = (each.want for each in generation.resources if isinstance(each.want, Owned))
    return next((want.node for want in owned if want.node), None)


def find_current(directory: StateDirectory) -> Generation | None:
    """What the machine is confirmed to be; None where that is nothing, or cannot be read any more."""
    state = directory.load_state().value
    if state is None or state.current is None:
        return None
    return directory.load_generation(state.current).value


def is_node(directory: StateDirectory) -> bool:
    """Whether the machine is confirmed as a node, and not only prepared; so is one that cannot be read."""
    state = directory.load_state().value
    if state is None or state.current is None:
        return False
    current = find_current(directory)
    return current is None or current.joins


def find_joined_name(directory: StateDirectory, host: Host) -> str:
    """The name of the Node that this machine is, or became without being confirmed; empty: of none."""
    current = find_current(directory)
    if current is not None and current.joins:
        return find_node_name(current) or ""
    if not has_joined(host):
        return ""
    tried = (directory.load_generation(identity).value for identity in directory.known_generations())
    names = {find_node_name(each) or "" for each in tried if each is not None and each.joins}
    return names.pop() if len(names) == 1 else ""  # of several nobody can say which one it was
