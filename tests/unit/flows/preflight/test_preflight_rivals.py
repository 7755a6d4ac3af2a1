"""What holds a node's ports and files is named, with the way to be rid of it; the node's own is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flexnode.flows.preflight import Level, Ours
from flexnode.host.fake import FakeHost
from unit.flows.preflight.samples import (
    CONTAINERD_SOCKET,
    Case,
    findings,
    listen,
    listen_on_socket,
    situation,
    stock,
)

JOINED = Ours(
    joined=True,
    generation="0123456789abcdef",
    keys=frozenset(
        {
            "file:/usr/local/bin/kubelet",
            "file:/usr/local/bin/containerd",
            "file:/etc/containerd/config.toml",
            "file:/etc/kubernetes/pki/ca.crt",
            "directory:/var/lib/kubelet",
            "unit:containerd.service",
            "unit:kubelet.service",
        }
    ),
)
BAKED = Ours(keys=JOINED.keys - {"file:/etc/kubernetes/pki/ca.crt"})

Change = Callable[[FakeHost], None]


def listening(port: int, name: str, program: str = "") -> Change:
    return lambda host: listen(host, port, pid=812, name=name, program=program)


def with_socket(name: str, program: str = "") -> Change:
    return lambda host: listen_on_socket(host, CONTAINERD_SOCKET, pid=640, name=name, program=program)


def with_unit(name: str, *, enabled: bool = False, active: bool = False) -> Change:
    return lambda host: host.units.place(name, enabled=enabled, active=active)


def with_packages(*names: str) -> Change:
    return lambda host: host.packages.present.update(names)


def with_files(*paths: str) -> Change:
    def place(host: FakeHost) -> None:
        for path in paths:
            host.files.place(path, "x")

    return place


def both(*changes: Change) -> Change:
    def change(host: FakeHost) -> None:
        for each in changes:
            each(host)

    return change


def nobody_visible(host: FakeHost) -> None:
    listen(host, 10250, pid=812, name="kubelet")
    for path in [path for path in host.files.nodes if path.startswith("/proc/812")]:
        del host.files.nodes[path]


def left_mounts(host: FakeHost) -> None:
    host.files.place("/var/lib/kubelet/pods/a/volumes/data/file", "theirs")
    host.files.mounts.add("/var/lib/kubelet/pods/a/volumes/data")


def with_mount(path: str) -> Change:
    def mount(host: FakeHost) -> None:
        host.files.place_directory(path)
        host.files.mounts.add(path)

    return mount


CASES = [
    Case(
        about="held by another kubelet",
        check="ports",
        level=Level.ERROR,
        code="preflight/port-taken",
        says="port 10250 (kubelet) is held by kubelet (process 812)",
        hint="systemctl status 812",
        host=listening(10250, "kubelet"),
    ),
    Case(
        about="held by somebody who cannot be seen",
        check="ports",
        level=Level.ERROR,
        code="preflight/port-taken",
        hint="ss -tulpn",
        host=nobody_visible,
    ),
    Case(
        about="held by an agent for monitoring",
        check="ports",
        level=Level.ERROR,
        code="preflight/port-taken",
        says="port 10256 (kube-proxy's health) is held by exporter",
        hint="systemctl disable",
        host=listening(10256, "exporter"),
    ),
    Case(about="of others", check="ports", level=Level.OK, says="free", host=listening(22, "sshd")),
    Case(
        about="held by the node itself, its kubelet replaced while it runs",
        check="ports",
        level=Level.OK,
        says="held by the node itself",
        host=both(
            listening(10250, "kubelet", "/usr/local/bin/kubelet (deleted)"), listening(10256, "kube-proxy")
        ),
        changes={"ours": JOINED},
    ),
    Case(
        about="held by another kubelet although this machine has joined",
        check="ports",
        level=Level.ERROR,
        code="preflight/port-taken",
        hint="systemctl",
        host=listening(10250, "kubelet", "/usr/bin/kubelet"),
        changes={"ours": JOINED},
    ),
    Case(
        about="held by the distribution's containerd",
        check="containerd-socket",
        level=Level.ERROR,
        code="preflight/socket-taken",
        says="containerd (process 640)",
        hint="systemctl status 640",
        host=with_socket("containerd"),
    ),
    Case(
        about="held by the node's own, on a baked image",
        check="containerd-socket",
        level=Level.OK,
        says="the node's own",
        host=with_socket("containerd", "/usr/local/bin/containerd"),
        changes={"ours": BAKED},
    ),
    Case(
        about="Docker, running",
        check="other-runtime",
        level=Level.ERROR,
        code="preflight/other-runtime",
        says="docker.service is running",
        hint="apt-get purge docker-ce",
        host=with_unit("docker.service", active=True),
    ),
    Case(
        about="Docker, to be started by its socket",
        check="other-runtime",
        level=Level.ERROR,
        code="preflight/other-runtime",
        says="docker.socket is enabled",
        hint="purge",
        host=with_unit("docker.socket", enabled=True),
    ),
    Case(
        about="the distribution's containerd",
        check="other-runtime",
        level=Level.ERROR,
        code="preflight/other-runtime",
        says="package containerd",
        hint="apt-get purge containerd",
        host=with_packages("containerd"),
    ),
    Case(
        about="a configuration of containerd that nobody here wrote",
        check="other-runtime",
        level=Level.ERROR,
        code="preflight/other-runtime",
        says="/etc/containerd/config.toml exists",
        hint="/etc/containerd/config.toml away",
        host=with_files("/etc/containerd/config.toml"),
    ),
    Case(
        about="CRI-O",
        check="other-runtime",
        level=Level.ERROR,
        code="preflight/other-runtime",
        says="CRI-O",
        hint="apt-get purge cri-o",
        host=with_packages("cri-o"),
    ),
    Case(
        about="the node's own containerd",
        check="other-runtime",
        level=Level.OK,
        host=both(
            with_unit("containerd.service", enabled=True, active=True),
            with_files("/etc/containerd/config.toml"),
        ),
        changes={"ours": BAKED},
    ),
    *(
        Case(
            about=name,
            check="other-kubernetes",
            level=Level.ERROR,
            code="preflight/other-kubernetes",
            says=sign,
            hint=hint,
            host=host,
        )
        for name, sign, hint, host in (
            ("kubeadm's packages", "package kubeadm", "kubeadm reset", with_packages("kubelet", "kubeadm")),
            ("a kubelet", "kubelet.service is running", "reset", with_unit("kubelet.service", active=True)),
            ("K3s", "k3s-agent.service is running", "k3s", with_unit("k3s-agent.service", active=True)),
            ("K3s, stopped", "/usr/local/bin/k3s", "uninstall", with_files("/usr/local/bin/k3s")),
            ("RKE2", "rke2-agent.service", "rke2", with_unit("rke2-agent.service", enabled=True)),
            ("MicroK8s", "/snap/microk8s", "snap remove", with_files("/snap/microk8s/current/x")),
            ("k0s", "/var/lib/k0s", "k0s reset", with_files("/var/lib/k0s/x")),
        )
    ),
    Case(
        about="the node's own kubelet",
        check="other-kubernetes",
        level=Level.OK,
        host=with_unit("kubelet.service", enabled=True, active=True),
        changes={"ours": JOINED},
    ),
    Case(
        about="files of an earlier node, with mounts below",
        check="left-overs",
        level=Level.ERROR,
        code="preflight/left-overs",
        says="/var/lib/kubelet",
        hint="umount /var/lib/kubelet/pods/a/volumes/data",
        host=left_mounts,
    ),
    Case(
        about="an empty disk of the user's where kubelet writes",
        check="left-overs",
        level=Level.ERROR,
        code="preflight/left-over-mounts",
        says="/var/lib/kubelet/models",
        hint="umount /var/lib/kubelet/models",
        host=with_mount("/var/lib/kubelet/models"),
    ),
    Case(
        about="a disk for the images of all pods",
        check="left-overs",
        level=Level.OK,
        host=with_mount("/var/lib/containerd"),
    ),
    Case(
        about="volumes of the node's own pods",
        check="left-overs",
        level=Level.OK,
        host=with_mount("/var/lib/kubelet/pods/a/volumes/data"),
        changes={"ours": JOINED},
    ),
    Case(
        about="a network configuration of an earlier node",
        check="left-overs",
        level=Level.ERROR,
        code="preflight/left-overs",
        says="/etc/cni/net.d",
        hint="move them away",
        host=with_files("/etc/cni/net.d/10-bridge.conflist"),
    ),
    Case(
        about="empty directories that a package made",
        check="left-overs",
        level=Level.OK,
        host=lambda host: host.files.place_directory("/etc/kubernetes/manifests"),
    ),
    Case(
        about="a bridge of an earlier node",
        check="left-overs",
        level=Level.ERROR,
        code="preflight/left-over-links",
        says="cni0",
        hint="ip link delete cni0",
        host=lambda host: host.network.interfaces.add("cni0"),
    ),
    Case(
        about="rules of an earlier node",
        check="left-overs",
        level=Level.WARNING,
        code="preflight/left-over-rules",
        hint="reboot",
        host=lambda host: host.network.filters.update({"ip/filter/KUBE-FORWARD": ("",)}),
    ),
    Case(
        about="rules of the user's own",
        check="left-overs",
        level=Level.OK,
        host=lambda host: host.network.filters.update({"inet/filter/input": ("",)}),
    ),
    Case(
        about="all of it this node's own",
        check="left-overs",
        level=Level.OK,
        says="this node's own",
        host=both(left_mounts, lambda host: host.network.interfaces.add("cni0")),
        changes={"ours": JOINED},
    ),
    Case(
        about="a first join that was interrupted",
        check="left-overs",
        level=Level.OK,
        host=with_files("/etc/kubernetes/pki/ca.crt", "/var/lib/kubelet/config.json"),
        changes={"ours": Ours(keys=JOINED.keys)},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rivals(case: Case) -> None:
    case.hold()


def test_a_process_that_ends_while_it_is_looked_at_is_no_failure() -> None:
    host = stock()
    listen(host, 10250, pid=900, name="kubelet")
    host.files.place("/proc/33/fd", "no directory any more")
    (finding,) = findings("ports", situation(host))
    assert "process 900" in finding.message
