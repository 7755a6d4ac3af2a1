"""A dry run shows what would be, and the machine below never hears of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.errors import FlexError
from flexnode.host import OverlayHost
from flexnode.host.door import Account, Enablement
from flexnode.host.fake import FakeHost

UNIT = b"[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"


@pytest.fixture
def below() -> FakeHost:
    host = FakeHost()
    host.units.place("containerd.service", active=True)
    host.runtime.stored = {"registry.test/old:1"}
    host.runtime.pods = ["default/a"]
    host.kernel.swap = ["/dev/vda2"]
    host.network.interfaces.add("cni0")
    host.network.filters = {"ip/filter/KUBE-A": (), "ip/filter/FORWARD": ("KUBE-A",), "inet/ours/post": ()}
    return host


def test_every_kind_of_change_is_seen_above_and_none_below(below: FakeHost) -> None:
    host = OverlayHost(below)
    before = below.snapshot(times=True)
    host.files.write("/etc/hosts", b"new", mode=0o600)
    host.files.remove_tree("/var/lib")
    host.files.write("/etc/systemd/system/sample.service", UNIT, mode=0o644)
    host.units.reload_manager()
    host.units.enable("sample.service")
    host.units.start("sample.service")
    host.units.disable("ssh.service")
    host.units.stop("ssh.service")
    host.units.mask("swap.target")
    host.kernel.set_sysctl("net.ipv4.ip_forward", "1")
    host.kernel.load_module("br-netfilter")
    host.kernel.swap_off("/dev/vda2")
    host.packages.install(["conntrack"])
    host.accounts.add_user(Account(name="sample"))
    host.runtime.pull_image("registry.test/new:1")
    host.runtime.remove_image("registry.test/old:1")
    host.runtime.stop_all_pods()
    host.network.remove_link("cni0")
    host.network.remove_chains(["KUBE-"])
    host.network.remove_tables(["ours"])

    assert below.snapshot(times=True) == before
    assert below.writes == []
    assert host.files.read("/etc/hosts") == b"new"
    assert host.files.find("/var/lib/dpkg/status") is None
    sample, ssh = host.units.find("sample.service"), host.units.find("ssh.service")
    assert (sample.enablement, sample.active) == (Enablement.ENABLED, True)
    assert (ssh.enablement, ssh.active) == (Enablement.DISABLED, False)
    assert host.units.find("swap.target").enablement is Enablement.MASKED
    assert host.kernel.find_sysctl("net.ipv4.ip_forward") == "1"
    assert host.kernel.has_module("br_netfilter")
    assert host.kernel.swaps() == []
    assert host.packages.installed(["conntrack", "libnetfilter-conntrack3"]) == {
        "conntrack",
        "libnetfilter-conntrack3",
    }
    assert host.packages.simulate(["conntrack"]).installs == ()
    assert host.packages.simulate_purge(["conntrack"]).removes == ("conntrack",)
    assert host.accounts.has_user("sample")
    assert host.accounts.has_group("sample")
    assert host.runtime.images() == {"registry.test/new:1"}
    assert list(host.network.links()) == ["eth0", "lo"]
    assert list(host.network.chains()) == ["ip/filter/FORWARD"]


def test_what_was_not_touched_is_as_below(below: FakeHost) -> None:
    host = OverlayHost(below)
    for path in below.files.nodes:
        assert host.files.find(path) == below.files.find(path)
    for name in ("ssh.service", "containerd.service", "nothing.service", "multi-user.target"):
        assert host.units.find(name) == below.units.find(name)
    assert host.kernel.find_sysctl("vm.panic_on_oom") == "0"
    assert host.kernel.has_module("overlay") is False
    assert host.runtime.images() == below.runtime.images()
    assert host.network.links() == below.network.links()


def test_a_changed_unit_file_asks_for_a_reload(below: FakeHost) -> None:
    below.units.place("sample.service", active=True)
    host = OverlayHost(below)
    host.files.make_directory("/etc/systemd/system/sample.service.d", mode=0o755)
    host.files.write("/etc/systemd/system/sample.service.d/a.conf", b"", mode=0o644)
    assert host.units.find("sample.service").needs_reload
    assert not host.units.find("ssh.service").needs_reload
    host.units.reload_manager()
    assert not host.units.find("sample.service").needs_reload


def test_a_restart_is_another_invocation(below: FakeHost) -> None:
    host = OverlayHost(below)
    first = host.units.find("ssh.service").invocation
    host.units.restart("ssh.service")
    second = host.units.find("ssh.service").invocation
    host.units.restart("ssh.service")
    assert len({first, second, host.units.find("ssh.service").invocation}) == 3


def test_a_runtime_that_was_only_pretended_to_start_is_an_empty_one(below: FakeHost) -> None:
    below.units.stop("containerd.service")
    host = OverlayHost(below)
    with pytest.raises(FlexError) as caught:
        host.runtime.images()
    assert caught.value.transient
    host.units.start("containerd.service")
    host.runtime.pull_image("registry.test/new:1")
    assert host.runtime.images() == {"registry.test/new:1"}


def test_mounts_below_guard_their_content_until_they_are_unmounted(below: FakeHost) -> None:
    below.files.place("/var/lib/kubelet/pods/volume/data", "precious")
    below.files.place("/var/lib/kubelet/config.json")
    below.files.mounts.add("/var/lib/kubelet/pods/volume")
    host = OverlayHost(below)
    assert list(host.files.remove_tree("/var/lib/kubelet")) == ["/var/lib/kubelet/pods/volume"]
    assert host.files.read("/var/lib/kubelet/pods/volume/data") == b"precious"
    assert host.files.find("/var/lib/kubelet/config.json") is None
    host.files.unmount("/var/lib/kubelet/pods/volume")
    assert host.files.list("/var/lib/kubelet/pods/volume") == []
    assert host.files.remove_tree("/var/lib/kubelet") == []
    assert host.files.find("/var/lib/kubelet") is None


def test_where_no_machine_runs_nothing_is_pretended_to_run() -> None:
    host = OverlayHost(FakeHost(running=False))
    host.units.start("ssh.service")
    host.kernel.set_sysctl("net.ipv4.ip_forward", "1")
    host.kernel.load_module("overlay")
    assert host.units.find("ssh.service").active is None
    assert host.kernel.find_sysctl("net.ipv4.ip_forward") is None
    assert host.kernel.has_module("overlay") is None


def test_a_file_from_outside_is_not_read_before_somebody_asks(below: FakeHost, tmp_path: Path) -> None:
    source = tmp_path / "kubelet"
    source.write_bytes(b"program")
    host = OverlayHost(below)
    host.files.install("/usr/local/bin/kubelet", source, mode=0o755)
    assert host.files.digest("/usr/local/bin/kubelet") == host.files.digest("/usr/local/bin/kubelet")
    assert host.files.read("/usr/local/bin/kubelet") == b"program"
