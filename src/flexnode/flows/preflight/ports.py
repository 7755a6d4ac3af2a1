"""Checks that what a node listens on is free, or is held by the node itself."""

from __future__ import annotations

from collections.abc import Iterator

from flexnode.flows.preflight.check import Finding, error, ok
from flexnode.flows.preflight.processes import Listener, find_ports, find_socket
from flexnode.flows.preflight.situation import Situation

PORTS = {10250: "kubelet", 10248: "kubelet's health", 10256: "kube-proxy's health"}
OF_PODS = (10256,)
"""Held by a pod on the host's network once the node has joined: its program lies in an image."""

SOCKET = "/run/containerd/containerd.sock"


def check_ports(situation: Situation) -> Iterator[Finding]:
    taken = find_ports(situation.host, PORTS)
    foreign = {port: listener for port, listener in taken.items() if not _is_ours(situation, listener, port)}
    for port, listener in foreign.items():
        yield error(
            "preflight/port-taken",
            f"port {port} ({PORTS[port]}) is held by {listener}",
            hint=_way_out(listener),
        )
    if not foreign:
        held = ", held by the node itself" if taken else ""
        yield ok(
            f"{', '.join(map(str, PORTS))} are free" if not held else f"{', '.join(map(str, PORTS))}{held}"
        )


def check_containerd_socket(situation: Situation) -> Iterator[Finding]:
    listener = find_socket(situation.host, SOCKET)
    if listener is None:
        yield ok(f"{SOCKET} is free")
    elif _is_ours(situation, listener):
        yield ok(f"{SOCKET} is held by the node's own containerd")
    else:
        yield error(
            "preflight/socket-taken",
            f"{SOCKET} is held by {listener}: two container runtimes cannot share it",
            hint=_way_out(listener),
        )


def _is_ours(situation: Situation, listener: Listener, port: int = 0) -> bool:
    if situation.ours.started and port in OF_PODS:
        return True
    holder = listener.holder
    if holder is None:
        return situation.ours.started if port else situation.ours.installed
    # systemd itself listens for units that start with their first connection: never one of ours.
    return bool(holder.program) and situation.ours.has(f"file:{holder.program}")


def _way_out(listener: Listener) -> str:
    if listener.holder is None:
        return "find its owner with `ss -tulpn` or `ss -xlp` as root, and stop it for good"
    return (
        f"find its service with `systemctl status {listener.holder.pid}`, then stop it for good:"
        " systemctl disable --now SERVICE"
    )
