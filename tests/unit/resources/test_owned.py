"""What others wrote for the node leaves with it, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from flexnode.errors import FlexError, HostError
from flexnode.host.fake import FakeHost
from flexnode.resources.owned import TASKS
from flexnode.resources.registry import make_handlers
from flexnode.resources.state import Absent, Owned
from unit.resources.samples import Crash, KeptContents, Managed, Moments

KUBELET = "/var/lib/kubelet"
POD = f"{KUBELET}/pods/7f3c"
WHOLE = Owned(
    pods=True,
    node="node-1",
    slices=("kubepods.slice", "never-there.slice"),
    trees=(KUBELET, "/run/containerd", "/etc/cni/net.d/10-flex.conflist", "/var/lib/never-there"),
    links=("cni0", "veth*"),
    chains=("KUBE-", "CNI-"),
    tables=("kube-proxy",),
)


class Cluster:
    """The Node objects of a cluster that can be told to refuse."""

    def __init__(self) -> None:
        self.deleted: list[str] = []
        self.refusal: FlexError | None = None

    def leave(self, node: str) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.deleted.append(node)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def joined_host() -> FakeHost:
    """A node with pods, volumes, an overlay, interfaces and packet filter rules, beside the user's own."""
    host = FakeHost()
    host.units.place("containerd.service", active=True)
    host.units.place("kubepods.slice", active=True)
    host.runtime.pods += ["default/web", "kube-system/proxy"]
    for path in (f"{KUBELET}/pki/key.pem", "/run/containerd/sock", "/etc/cni/net.d/10-flex.conflist"):
        host.files.place(path, "written by others")
    host.files.place("/etc/cni/net.d/99-mine.conflist", "precious")
    host.files.place("/run/containerd/k8s.io/web/rootfs/bin/web", "overlay")
    host.files.place(f"{POD}/volumes/tmpfs/token", "projected")
    host.files.place(f"{POD}/volumes/tmpfs/sub/x", "subpath")
    host.files.place(f"{POD}/volumes/bind/theirs", "precious")
    host.files.mounts |= {
        f"{POD}/volumes/tmpfs",
        f"{POD}/volumes/tmpfs/sub",
        f"{POD}/volumes/bind",
        "/run/containerd/k8s.io/web/rootfs",
    }
    host.network.interfaces |= {"cni0", "veth1234", "veth5678", "vethernet", "eth1", "mycni0"}
    host.network.filters |= {
        "ip/nat/KUBE-SERVICES": ("KUBE-SVC-1",),
        "ip/nat/KUBE-SVC-1": ("",),
        "ip/nat/POSTROUTING": ("CNI-1", ""),
        "ip/nat/CNI-1": ("",),
        "ip/filter/MY-KUBE-RULES": ("",),
        "inet/kube-proxy/services": ("",),
        "inet/mine/input": ("",),
    }
    host.writes.clear()
    return host


def manage(host: FakeHost, cluster: Cluster, folder: Path, want: Owned = WHOLE) -> Managed:
    handler = make_handlers(leave_node=cluster.leave)["owned"]
    return Managed(host=host, key="owned:all", want=want, contents=KeptContents(folder), handler=handler)


def leaving(owned: Owned) -> Owned:
    return msgspec.structs.replace(owned, left=True)


def leave(managed: Managed) -> None:
    assert isinstance(managed.want, Owned)
    managed.handler.put(managed.host, managed.name, leaving(managed.want), managed.contents)


def test_nothing_has_to_be_done_for_it_to_be_there(cluster: Cluster, tmp_path: Path) -> None:
    for host in (FakeHost(), joined_host()):
        managed = manage(host, cluster, tmp_path)
        before = host.snapshot(times=True)
        assert managed.is_as_wanted()
        assert managed.handler.matches(WHOLE, Absent(), managed.contents)
        managed.handler.put(host, managed.name, WHOLE, managed.contents)
        managed.handler.preserve(host, managed.name, managed.find(), managed.contents)
        assert host.snapshot(times=True) == before
        assert host.writes == []
        assert cluster.deleted == []


def test_while_it_may_stay_nobody_is_asked_about_it(cluster: Cluster, tmp_path: Path) -> None:
    """A check for drift must not fail, or wait, because of a runtime that is down."""
    host = joined_host()
    host.runtime.up = False
    assert manage(host, cluster, tmp_path).find() == WHOLE


def test_found_are_the_parts_that_are_there(cluster: Cluster, tmp_path: Path) -> None:
    assert manage(joined_host(), cluster, tmp_path).find(leaving(WHOLE)) == Owned(
        pods=True,
        node="node-1",
        slices=("kubepods.slice",),
        trees=(KUBELET, "/run/containerd", "/etc/cni/net.d/10-flex.conflist"),
        links=("cni0", "veth1234", "veth5678", "vethernet"),
        chains=("KUBE-", "CNI-"),
        tables=("kube-proxy",),
    )


def test_all_of_it_leaves_and_nothing_else_does(cluster: Cluster, tmp_path: Path) -> None:
    host = joined_host()
    leave(manage(host, cluster, tmp_path))
    assert host.runtime.pods == []
    assert cluster.deleted == ["node-1"]
    assert not host.units.find("kubepods.slice").active
    assert host.units.find("containerd.service").active
    for tree in WHOLE.trees:
        assert host.files.find(tree) is None
    assert host.files.read("/etc/cni/net.d/99-mine.conflist") == b"precious"
    assert host.network.links() == ["eth0", "eth1", "lo", "mycni0"]
    assert host.network.filters == {
        "ip/nat/POSTROUTING": ("",),
        "ip/filter/MY-KUBE-RULES": ("",),
        "inet/mine/input": ("",),
    }


def test_it_leaves_in_the_order_that_lets_each_step_succeed(cluster: Cluster, tmp_path: Path) -> None:
    host = joined_host()
    leave(manage(host, cluster, tmp_path))
    verbs = [write.split()[0] + (" tree" if write.startswith("remove /") else "") for write in host.writes]
    assert list(dict.fromkeys(verbs)) == ["stop", "unmount", "remove tree", "remove"]


def test_nothing_behind_a_mount_is_deleted(cluster: Cluster, tmp_path: Path) -> None:
    host = joined_host()
    leave(manage(host, cluster, tmp_path))
    assert set(host.files.detached[f"{POD}/volumes/bind"]) == {f"{POD}/volumes/bind/theirs"}
    assert host.files.mounts == set()


def test_a_mount_that_does_not_go_keeps_every_tree_whole(cluster: Cluster, tmp_path: Path) -> None:
    host = joined_host()
    host.files.busy.add(f"{POD}/volumes/bind")
    with pytest.raises(FlexError) as caught:
        leave(manage(host, cluster, tmp_path))
    assert (caught.value.code, caught.value.transient) == ("owned/still-mounted", True)
    assert f"{POD}/volumes/bind" in caught.value.message
    assert not [write for write in host.writes if write.startswith("remove")]
    host.files.busy.clear()
    leave(manage(host, cluster, tmp_path))
    assert host.files.find(KUBELET) is None


def test_a_disk_that_the_user_mounted_as_a_tree_is_neither_unmounted_nor_emptied(
    cluster: Cluster, tmp_path: Path
) -> None:
    host = joined_host()
    host.files.mounts.add(KUBELET)
    managed = manage(host, cluster, tmp_path)
    with pytest.raises(FlexError) as caught:
        leave(managed)
    assert (caught.value.code, caught.value.transient) == ("owned/mount-point", False)
    assert KUBELET in caught.value.hint
    assert host.files.read(f"{KUBELET}/pki/key.pem") == b"written by others"
    assert KUBELET in host.files.mounts
    host.files.remove_tree(f"{KUBELET}/pki")  # as the hint says
    host.files.remove_tree(f"{KUBELET}/pods")
    leave(managed)
    assert host.files.mounts == {KUBELET}


def test_a_tree_behind_a_link_is_emptied_and_the_link_still_leads_there(
    cluster: Cluster, tmp_path: Path
) -> None:
    host = FakeHost()
    host.files.place("/srv/disk/kubelet/pki/key.pem", "written by others")
    host.files.place("/srv/disk/kubelet/volume/token", "projected")
    host.files.place("/srv/disk/theirs", "precious")
    host.files.place_link(KUBELET, "/srv/disk/kubelet")
    host.files.mounts.add("/srv/disk/kubelet/volume")
    managed = manage(host, cluster, tmp_path, Owned(trees=(KUBELET,)))
    leave(managed)
    assert host.files.list(KUBELET) == []
    assert host.files.list("/srv/disk") == ["kubelet", "theirs"]
    assert managed.find(leaving(Owned(trees=(KUBELET,)))) == Absent()


@pytest.mark.parametrize("target", ["/", "/srv", "../.."])
def test_a_link_that_leads_to_more_than_a_node_has_is_not_followed(
    cluster: Cluster, target: str, tmp_path: Path
) -> None:
    host = FakeHost()
    host.files.place("/srv/disk/theirs", "precious")
    host.files.mounts.add("/srv/disk")
    host.files.place_link(KUBELET, target)
    host.writes.clear()
    with pytest.raises(FlexError) as caught:
        leave(manage(host, cluster, tmp_path, Owned(trees=(KUBELET,))))
    assert caught.value.code == "owned/not-ours"
    assert host.writes == []


def test_a_refused_node_keeps_the_kubelets_credentials(cluster: Cluster, tmp_path: Path) -> None:
    """Without them nobody could delete the Node later."""
    host = joined_host()
    cluster.refusal = FlexError("the API server is down", code="kube/unavailable", transient=True)
    with pytest.raises(FlexError, match="down"):
        leave(manage(host, cluster, tmp_path))
    assert host.files.find(f"{KUBELET}/pki/key.pem") is not None
    cluster.refusal = None
    leave(manage(host, cluster, tmp_path))
    assert cluster.deleted == ["node-1"]


def test_without_a_cluster_the_node_is_not_forgotten_in_silence(tmp_path: Path) -> None:
    handler = make_handlers()["owned"]
    with pytest.raises(HostError, match="node-1") as caught:
        handler.put(FakeHost(), "node", Owned(node="node-1", left=True), KeptContents(tmp_path))
    assert "kubectl delete node node-1" in caught.value.hint


def test_pods_are_not_abandoned_because_their_runtime_is_down(cluster: Cluster, tmp_path: Path) -> None:
    host = joined_host()
    host.files.place_directory(f"{TASKS}/web")
    host.units.stop("containerd.service")
    with pytest.raises(FlexError) as caught:
        leave(manage(host, cluster, tmp_path))
    assert caught.value.transient
    assert host.files.find(KUBELET) is not None


def test_a_runtime_that_left_with_its_pods_is_not_waited_for(cluster: Cluster, tmp_path: Path) -> None:
    host = FakeHost()
    managed = manage(host, cluster, tmp_path, Owned(pods=True))
    assert managed.is_as_wanted(leaving(Owned(pods=True)))
    leave(managed)
    assert host.writes == []


def test_gone_is_gone(cluster: Cluster, tmp_path: Path) -> None:
    """But the Node cannot be seen from the machine, and a runtime that answers may always have pods."""
    want = msgspec.structs.replace(WHOLE, node="", pods=False)
    host = joined_host()
    managed = manage(host, cluster, tmp_path, want)
    assert not managed.is_as_wanted(leaving(want))
    leave(managed)
    assert managed.is_as_wanted(leaving(want))
    host.writes.clear()
    leave(managed)
    assert host.writes == []


def test_killed_at_any_moment_of_leaving_it_leaves_in_the_end(cluster: Cluster, tmp_path: Path) -> None:
    undisturbed = joined_host()
    undisturbed.hook = moments = Moments()
    leave(manage(undisturbed, cluster, tmp_path))
    for fatal in range(len(moments.seen)):
        host = joined_host()
        host.hook = Moments(fatal)
        with pytest.raises(Crash):
            leave(manage(host, cluster, tmp_path))
        host.hook = Moments()
        leave(manage(host, cluster, tmp_path))
        assert host.snapshot() == undisturbed.snapshot()


def test_an_image_in_the_making_has_only_trees(cluster: Cluster, tmp_path: Path) -> None:
    host = FakeHost(running=False)
    host.files.place(f"{KUBELET}/pki/key.pem")
    want = msgspec.structs.replace(WHOLE, node="")
    managed = manage(host, cluster, tmp_path, want)
    assert managed.find(leaving(want)) == Owned(trees=(KUBELET,))
    leave(managed)
    assert managed.find(leaving(want)) == Absent()


def test_absent_does_not_say_what_to_remove(cluster: Cluster, tmp_path: Path) -> None:
    managed = manage(joined_host(), cluster, tmp_path)
    with pytest.raises(TypeError, match="left"):
        managed.handler.put(managed.host, managed.name, Absent(), managed.contents)
