"""The API server, asked as the node itself: with kubelet's own certificate, the way kubelet goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from flexnode.artifacts import Proxies
from flexnode.clock import Clock
from flexnode.components.layout import KUBECONFIG, KUBELET_CERTIFICATE
from flexnode.generation.generation import Generation
from flexnode.host.door import Host
from flexnode.kube import Connection, KubeClient, parse_kubeconfig
from flexnode.resources.state import Owned

Connect = Callable[[], KubeClient]


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
