"""The fake machine behaves as a real one where thousands of tests rely on it."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from flexnode.errors import FlexError
from flexnode.host.door import Enablement, Host
from flexnode.host.fake import FakeHost, render_deb

UNIT = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
PATH = "/etc/systemd/system/sample.service"


class Killed(BaseException):
    """What a crash hook raises: no code under test may catch it."""


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


def refusal(host: Host, name: str) -> str:
    with pytest.raises(FlexError) as caught:
        host.units.start(name)
    return caught.value.code


def test_a_fresh_machine_was_not_written_to_and_equals_another(host: FakeHost) -> None:
    assert host.writes == []
    assert host.snapshot() == FakeHost().snapshot()
    assert host.units.find("systemd-timesyncd.service").active


def test_every_change_is_counted_and_can_crash_before_and_after(host: FakeHost) -> None:
    seen: list[str] = []
    host.hook = seen.append
    host.files.write("/etc/a", b"1", mode=0o600)
    assert seen == ["before write /etc/a", "after write /etc/a"]
    assert host.writes == ["write /etc/a"]

    def kill(moment: str) -> None:
        if moment == "before write /etc/a":
            raise Killed

    host.hook = kill
    with pytest.raises(Killed):
        host.files.write("/etc/a", b"2", mode=0o600)
    assert host.files.read("/etc/a") == b"1"


def test_the_same_end_by_another_way_is_the_same_snapshot(host: FakeHost) -> None:
    other = FakeHost()
    host.files.write("/etc/a", b"1", mode=0o600)
    other.files.write("/etc/b", b"2", mode=0o600)
    other.files.write("/etc/a", b"1", mode=0o600)
    assert host.snapshot() != other.snapshot()
    other.files.remove("/etc/b")
    assert host.snapshot() == other.snapshot()
    assert host.snapshot(times=True) != other.snapshot(times=True)


def test_a_unit_exists_by_its_file_and_is_enabled_by_its_links(host: FakeHost) -> None:
    assert host.units.find("sample.service").enablement is Enablement.ABSENT
    assert refusal(host, "sample.service") == "host/unit-missing"
    host.files.write(PATH, UNIT.encode(), mode=0o644)
    assert host.units.find("sample.service").enablement is Enablement.DISABLED
    before = host.snapshot()
    host.units.enable("sample.service")
    assert host.units.find("sample.service").enablement is Enablement.ENABLED
    assert host.files.find("/etc/systemd/system/multi-user.target.wants/sample.service")
    host.units.disable("sample.service")
    assert host.snapshot() == before


def test_a_changed_unit_asks_for_a_reload_once_it_was_loaded(host: FakeHost) -> None:
    host.files.write(PATH, UNIT.encode(), mode=0o644)
    host.units.start("sample.service")
    assert not host.units.find("sample.service").needs_reload
    host.files.make_directory(f"{PATH}.d", mode=0o755)
    host.files.write(f"{PATH}.d/a.conf", b"[Service]\n", mode=0o644)
    assert host.units.find("sample.service").needs_reload
    host.units.reload_manager()
    assert not host.units.find("sample.service").needs_reload


def test_a_restart_is_a_new_invocation_and_a_second_start_is_nothing(host: FakeHost) -> None:
    host.units.place("sample.service", enabled=True, active=True)
    first = host.units.find("sample.service").invocation
    host.units.start("sample.service")
    assert host.units.find("sample.service").invocation == first
    host.units.restart("sample.service")
    assert host.units.find("sample.service").invocation != first
    assert host.writes == ["restart sample.service"]


def test_a_masked_unit_does_not_start(host: FakeHost) -> None:
    host.units.place("sample.service")
    host.units.mask("sample.service")
    assert host.units.find("sample.service").enablement is Enablement.MASKED
    assert refusal(host, "sample.service") == "host/unit-masked"
    host.units.unmask("sample.service")
    host.units.start("sample.service")


def test_the_runtime_answers_while_containerd_runs(host: FakeHost, tmp_path: Path) -> None:
    with pytest.raises(FlexError) as caught:
        host.runtime.images()
    assert caught.value.transient
    host.units.place("containerd.service", active=True)
    index = tmp_path / "index.json"
    index.write_text(
        json.dumps({"manifests": [{"annotations": {"io.containerd.image.name": "registry.test/pause:1"}}]})
    )
    with tarfile.open(tmp_path / "image.tar", "w") as tar:
        tar.add(index, "index.json")
    host.runtime.import_image(tmp_path / "image.tar")
    assert host.runtime.images() == {"registry.test/pause:1"}


def test_what_lies_behind_a_mount_is_never_removed(host: FakeHost) -> None:
    host.files.place("/var/lib/kubelet/pods/a/volume/data", "precious")
    host.files.place("/var/lib/kubelet/config.json")
    host.files.mounts.add("/var/lib/kubelet/pods/a/volume")
    assert host.files.remove_tree("/var/lib/kubelet") == ["/var/lib/kubelet/pods/a/volume"]
    assert host.files.read("/var/lib/kubelet/pods/a/volume/data") == b"precious"
    assert host.files.find("/var/lib/kubelet/config.json") is None
    host.files.unmount("/var/lib/kubelet/pods/a/volume")
    assert host.files.remove_tree("/var/lib/kubelet") == []
    assert host.files.find("/var/lib/kubelet") is None


def test_packages_come_with_what_they_need_and_go_alone(host: FakeHost, tmp_path: Path) -> None:
    before = host.snapshot()
    assert host.packages.simulate(["conntrack"]).installs == ("conntrack", "libnetfilter-conntrack3")
    host.packages.install(["conntrack"])
    assert host.packages.simulate_purge(["libnetfilter-conntrack3"]).removes == (
        "conntrack",
        "libnetfilter-conntrack3",
    )
    host.packages.purge(["conntrack", "libnetfilter-conntrack3"])
    assert host.snapshot() == before
    deb = tmp_path / "0123"
    deb.write_bytes(render_deb("local", "libc6"))
    host.packages.reachable = False
    unneeded = tmp_path / "4567"
    unneeded.write_bytes(render_deb("unneeded"))
    host.packages.install(["local"], [deb, unneeded])
    assert host.packages.installed(["local", "unneeded"]) == {"local"}


def test_a_package_manager_that_was_killed_half_way_is_repaired(host: FakeHost) -> None:
    def kill(moment: str) -> None:
        if moment == "before install conntrack":
            raise Killed

    host.hook = kill
    with pytest.raises(Killed):
        host.packages.install(["conntrack"])
    assert not host.packages.installed(["conntrack"])
    host.hook = lambda _moment: None
    host.packages.install(["conntrack"])
    undisturbed = FakeHost()
    undisturbed.packages.install(["conntrack"])
    assert host.snapshot() == undisturbed.snapshot()


def test_a_module_brings_its_sysctls(host: FakeHost) -> None:
    assert host.kernel.find_sysctl("net.bridge.bridge-nf-call-iptables") is None
    host.kernel.load_module("br_netfilter")
    assert host.kernel.find_sysctl("net.bridge.bridge-nf-call-iptables") == "1"


def test_a_root_file_system_that_does_not_run_says_so_and_ignores_what_needs_running() -> None:
    host = FakeHost(running=False)
    host.units.place("sample.service", enabled=True)
    before = host.snapshot()
    host.units.start("sample.service")
    host.kernel.set_sysctl("net.ipv4.ip_forward", "1")
    host.kernel.load_module("overlay")
    assert host.units.find("sample.service").active is None
    assert host.kernel.find_sysctl("net.ipv4.ip_forward") is None
    assert host.kernel.has_module("overlay") is None
    assert host.runtime.images() == frozenset()
    assert host.snapshot() == before


def test_only_the_named_chains_and_the_jumps_to_them_go(host: FakeHost) -> None:
    host.network.filters = {
        "ip/filter/FORWARD": ("KUBE-FORWARD", "", "DOCKER-USER"),
        "ip/filter/KUBE-FORWARD": ("",),
        "inet/aks-flex-node/postrouting": ("",),
    }
    host.network.remove_chains(["KUBE-"])
    host.network.remove_tables(["aks-flex-node"])
    assert host.network.filters == {"ip/filter/FORWARD": ("", "DOCKER-USER")}
