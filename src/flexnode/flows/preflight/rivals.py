"""Checks for others who would manage the same things: runtimes, other Kubernetes, what one left behind."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass

from flexnode.flows.preflight.check import Finding, error, ok, warning
from flexnode.flows.preflight.reading import find_names, has_directory
from flexnode.flows.preflight.situation import Situation
from flexnode.host.door import Enablement, FileKind, Host
from flexnode.resources.path import real_path

DEPTH = 6
"""How deep a tree is looked into for files."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rival:
    """Software that shares files, sockets or units with a node, and how to be rid of it."""

    name: str
    reason: str
    remedy: str
    units: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


RUNTIMES = (
    Rival(
        name="Docker",
        reason="it brings its own containerd, and sets the firewall to drop what is forwarded",
        remedy="use another machine, or purge it: apt-get purge docker-ce docker.io moby-engine",
        units=("docker.service", "docker.socket"),
        packages=("docker-ce", "docker.io", "moby-engine"),
    ),
    Rival(
        name="another containerd",
        reason="it has the same unit, the same socket and the same configuration file",
        remedy="purge it (apt-get purge containerd containerd.io moby-containerd), and move"
        " /etc/containerd/config.toml away",
        units=("containerd.service",),
        packages=("containerd", "containerd.io", "moby-containerd"),
        paths=("/etc/containerd/config.toml",),
    ),
    Rival(
        name="CRI-O",
        reason="it answers for the same pods' network",
        remedy="purge it: apt-get purge cri-o",
        units=("crio.service",),
        packages=("cri-o",),
    ),
)

KUBERNETES = (
    Rival(
        name="another kubelet",
        reason="one machine can be one node only",
        remedy="kubeadm reset, then apt-get purge kubelet kubeadm",
        units=("kubelet.service",),
        packages=("kubelet", "kubeadm"),
        paths=("/etc/systemd/system/kubelet.service.d",),
    ),
    Rival(
        name="K3s",
        reason="it is a kubelet and a containerd of its own",
        remedy="remove it with k3s-uninstall.sh or k3s-agent-uninstall.sh",
        units=("k3s.service", "k3s-agent.service"),
        paths=("/usr/local/bin/k3s", "/var/lib/rancher/k3s"),
    ),
    Rival(
        name="RKE2",
        reason="it is a kubelet and a containerd of its own",
        remedy="remove it with rke2-uninstall.sh",
        units=("rke2-server.service", "rke2-agent.service"),
        paths=("/usr/local/bin/rke2", "/var/lib/rancher/rke2"),
    ),
    Rival(
        name="MicroK8s",
        reason="it is a kubelet and a containerd of its own",
        remedy="snap remove --purge microk8s",
        units=("snap.microk8s.daemon-kubelite.service",),
        paths=("/snap/microk8s",),
    ),
    Rival(
        name="k0s",
        reason="it is a kubelet and a containerd of its own",
        remedy="k0s stop, then k0s reset",
        units=("k0sworker.service", "k0scontroller.service"),
        paths=("/var/lib/k0s",),
    ),
)

UNITS = tuple(unit for rival in (*RUNTIMES, *KUBERNETES) for unit in rival.units)

TREES = ("/etc/kubernetes", "/var/lib/kubelet", "/etc/cni/net.d", "/var/lib/cni")
GOING = (*TREES, "/var/lib/containerd", "/var/log/pods", "/var/log/containers")
"""What goes as a whole when the machine leaves, and everything below is unmounted before."""
LINKS = ("cni0", "flannel.1", "cilium_host", "kube-ipvs0", "nodelocaldns")
CHAINS = ("KUBE-", "CNI-")


def check_other_runtime(situation: Situation) -> Iterator[Finding]:
    yield from _look_for(
        situation, RUNTIMES, code="preflight/other-runtime", none="no other container runtime"
    )


def check_other_kubernetes(situation: Situation) -> Iterator[Finding]:
    yield from _look_for(situation, KUBERNETES, code="preflight/other-kubernetes", none="no other Kubernetes")


def check_left_overs(situation: Situation) -> Iterator[Finding]:
    host, ours = situation.host, situation.ours
    trees = [
        tree for tree in TREES if not ours.started and not ours.has_path(tree) and _holds_files(host, tree)
    ]
    if trees:
        yield error(
            "preflight/left-overs",
            f"{', '.join(trees)} hold files of an earlier node that the product did not make",
            hint="if nothing needs them: kubeadm reset, or move them away;"
            f" mounts below come first: {' '.join(_mounts(host, trees)) or 'there are none'}",
        )
    mounts = () if ours.started else tuple(_mounts_inside(situation, but=trees))
    if mounts:
        yield error(
            "preflight/left-over-mounts",
            f"{', '.join(mounts)}: mounted in a directory that a node has to itself, and would be unmounted"
            " when the machine leaves",
            hint=f"{'; '.join(f'umount {mount}' for mount in mounts)}; mount it elsewhere (see /etc/fstab)",
        )
    links = () if ours.started else [name for name in host.network.links() if name in LINKS]
    if links:
        yield error(
            "preflight/left-over-links",
            f"the network interfaces {', '.join(links)} are left from an earlier node",
            hint="; ".join(f"ip link delete {name}" for name in links) + "; or reboot",
        )
    chains = () if ours.started else [each for each in host.network.chains() if _is_of_node(each)]
    if chains:
        yield warning(
            "preflight/left-over-rules",
            f"{len(chains)} packet filter chains are left from an earlier node ({chains[0]} and so on)",
            hint="reboot: they are not saved anywhere; if they come back, look for what restores them",
        )
    if not trees and not mounts and not links and not chains:
        yield ok("nothing of an earlier node" if not ours.started else "what is there is this node's own")


def _look_for(situation: Situation, rivals: tuple[Rival, ...], *, code: str, none: str) -> Iterator[Finding]:
    found = False
    for rival in rivals:
        signs = [*_packages(situation, rival), *_units(situation, rival), *_paths(situation, rival)]
        if signs:
            found = True
            yield error(code, f"{rival.name}: {rival.reason} ({', '.join(signs)})", hint=rival.remedy)
    if not found:
        yield ok(none)


def _packages(situation: Situation, rival: Rival) -> Iterator[str]:
    present = situation.host.packages.installed(rival.packages)
    yield from (f"package {name}" for name in rival.packages if name in present)


def _units(situation: Situation, rival: Rival) -> Iterator[str]:
    units = situation.host.units.find_all(rival.units)
    for name in rival.units:
        if situation.ours.has(f"unit:{name}", f"file:/etc/systemd/system/{name}"):
            continue
        if units[name].active:
            yield f"{name} is running"
        elif units[name].enablement is Enablement.ENABLED:
            yield f"{name} is enabled"


def _paths(situation: Situation, rival: Rival) -> Iterator[str]:
    for path in rival.paths:
        if situation.host.files.find(path) and not situation.ours.has_path(path):
            yield f"{path} exists"


def _holds_files(host: Host, tree: str, depth: int = DEPTH) -> bool:
    """Whether anything but directories lies in a tree: packages make empty ones."""
    if not has_directory(host, tree) or not depth:
        return False
    for name in find_names(host, tree):
        path = posixpath.join(tree, name)
        info = host.files.find(path)
        if info is not None and (info.kind is not FileKind.DIRECTORY or _holds_files(host, path, depth - 1)):
            return True
    return False


def _mounts_inside(situation: Situation, *, but: list[str]) -> Iterator[str]:
    """Those below what goes. A disk that is mounted on such a tree itself is what a node may have for it."""
    files = situation.host.files
    for tree in GOING:
        if tree not in but and not situation.ours.has_path(tree):
            real = real_path(files, tree)
            yield from (mount for mount in files.mounts_below(tree) if mount != real)


def _mounts(host: Host, trees: list[str]) -> list[str]:
    return [f"umount {mount}" for tree in trees for mount in host.files.mounts_below(tree)]


def _is_of_node(chain: str) -> bool:
    """`chain` is FAMILY/TABLE/CHAIN."""
    _, table, name = chain.split("/", 2)
    return name.startswith(CHAINS) or table == "kube-proxy"
