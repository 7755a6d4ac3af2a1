"""Parameters, modules and swap where the kernel has its own mind, or none runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.errors import FlexError
from flexnode.host.fake import FakeHost
from flexnode.resources.state import Absent, Module, State, Swap, Sysctl
from flexnode.resources.swap import swap_unit
from unit.resources.samples import manage

BRIDGE = "net.bridge.bridge-nf-call-iptables"
REDIRECTS = "net.ipv4.conf.all.accept_redirects"


def test_a_parameter_that_comes_with_a_module_is_set_once_the_module_is_there(tmp_path: Path) -> None:
    """Taken for as good as wanted before, it would never be set, and pods could not reach their services."""
    host = FakeHost()
    host.kernel.by_module["br_netfilter"] = {BRIDGE: "0"}
    sysctl = manage(host, f"sysctl:{BRIDGE}", Sysctl(value="1"), tmp_path)
    assert sysctl.find() == Absent()
    assert not sysctl.is_as_wanted()
    manage(host, "module:br_netfilter", Module(), tmp_path).converge()
    sysctl.converge()
    assert sysctl.find() == Sysctl(value="1")


def test_a_parameter_that_the_kernel_lacks_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(FlexError, match=BRIDGE) as caught:
        manage(FakeHost(), f"sysctl:{BRIDGE}", Sysctl(value="1"), tmp_path).converge()
    assert not caught.value.transient


def test_a_parameter_that_was_absent_before_needs_no_undoing(tmp_path: Path) -> None:
    host = FakeHost()
    managed = manage(host, "sysctl:vm.panic_on_oom", Sysctl(value="1"), tmp_path)
    managed.converge()
    host.writes.clear()
    managed.undo(Absent())
    assert managed.is_as_wanted(Absent())
    assert host.writes == []


@pytest.mark.parametrize("redirects", ["0", "1"])
def test_a_machine_that_forwards_no_more_takes_redirects_only_if_it_did_before(
    redirects: str, tmp_path: Path
) -> None:
    """The kernel allows them when forwarding ends: what its owner had hardened would be open."""
    host, forward = FakeHost(), "net.ipv4.ip_forward"
    host.kernel.set_sysctl(REDIRECTS, redirects)
    before = dict(host.kernel.sysctls)
    managed = manage(host, f"sysctl:{forward}", Sysctl(value="1"), tmp_path)
    original = managed.find()
    managed.converge()
    assert host.kernel.sysctls[REDIRECTS] == "0"
    assert managed.is_as_wanted()
    managed.undo(original)
    assert host.kernel.sysctls == before


def test_what_goes_along_is_put_back_after_a_crash_in_between(tmp_path: Path) -> None:
    host, forward = FakeHost(), "net.ipv4.ip_forward"
    host.kernel.set_sysctl(REDIRECTS, "0")
    managed = manage(host, f"sysctl:{forward}", Sysctl(value="1"), tmp_path)
    original = managed.find()
    managed.converge()
    host.kernel.set_sysctl(forward, "0")  # and then the process was killed
    assert not managed.is_as_wanted(original)
    managed.undo(original)
    assert managed.is_as_wanted(original)
    assert host.kernel.sysctls[REDIRECTS] == "0"


@pytest.mark.parametrize(
    ("key", "want"),
    [
        ("sysctl:net.ipv4.ip_forward", Sysctl(value="1")),
        (f"sysctl:{BRIDGE}", Sysctl(value="1")),
        ("module:br_netfilter", Module()),
        ("swap:all", Swap()),
    ],
)
def test_an_image_is_as_wanted_and_looked_at_again_once_it_runs(
    key: str, want: State, tmp_path: Path
) -> None:
    host = FakeHost(running=False)
    managed = manage(host, key, want, tmp_path)
    assert managed.is_as_wanted()
    assert managed.is_as_wanted(Absent() if not isinstance(want, Swap) else want)
    managed.handler.put(host, managed.name, want, managed.contents)
    assert host.writes == []


def test_a_module_that_is_in_use_does_not_keep_a_node_from_leaving(tmp_path: Path) -> None:
    host = FakeHost()
    managed = manage(host, "module:overlay", Module(), tmp_path)
    managed.converge()
    host.kernel.in_use.add("overlay")
    managed.undo(Absent())
    assert managed.find() == Module()
    host.kernel.in_use.clear()
    managed.undo(Absent())
    assert managed.find() == Absent()


def test_a_module_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FlexError, match="no_such_module") as caught:
        manage(FakeHost(), "module:no_such_module", Module(), tmp_path).converge()
    assert caught.value.code == "host/no-such-module"


def test_swap_stays_off_after_a_reboot_without_a_change_of_fstab(tmp_path: Path) -> None:
    host = FakeHost()
    host.kernel.swap.append("/dev/sda2")
    fstab = host.files.read("/etc/fstab")
    managed = manage(host, "swap:all", Swap(), tmp_path)
    before = managed.converge()
    assert host.files.read("/etc/fstab") == fstab
    assert host.writes == ["mask dev-sda2.swap", "swap off /dev/sda2"]
    assert before == Swap(devices=("/dev/sda2",))


def test_only_what_was_used_as_swap_is_used_again(tmp_path: Path) -> None:
    host = FakeHost()
    host.kernel.swap.append("/dev/sda2")
    managed = manage(host, "swap:all", Swap(), tmp_path)
    before = managed.converge()
    assert before is not None
    host.units.mask("dev-sdb1.swap")  # by the user, meanwhile
    host.writes.clear()
    managed.undo(before)
    assert host.writes == ["unmask dev-sda2.swap", "swap on /dev/sda2"]


@pytest.mark.parametrize(
    ("device", "unit"),
    [
        ("/dev/sda2", "dev-sda2.swap"),
        ("/swapfile", "swapfile.swap"),
        ("/swap.img", "swap.img.swap"),
        ("/dev/disk/by-uuid/ab-cd", r"dev-disk-by\x2duuid-ab\x2dcd.swap"),
        ("/.swap", r"\x2eswap.swap"),
        ("/a/.b", "a-.b.swap"),
        ("//a//b/", "a-b.swap"),
        ("/my swap", r"my\x20swap.swap"),
        ("/ü", r"\xc3\xbc.swap"),
        (r"/a\b", r"a\x5cb.swap"),
        ("/dev/dm-0", r"dev-dm\x2d0.swap"),
        ("/dev/zram0", "dev-zram0.swap"),
    ],
)
def test_a_swap_device_has_the_unit_that_systemd_gives_it(device: str, unit: str) -> None:
    """As `systemd-escape --path --suffix=swap` of systemd 252 answered."""
    assert swap_unit(device) == unit


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1), min_size=1
    )
)
def test_no_two_devices_share_a_unit(parts: list[str]) -> None:
    parts = [part for part in parts if part not in (".", "..")] or ["a"]
    escaped = swap_unit("/" + "/".join(parts)).removesuffix(".swap")
    assert decode_path(escaped) == "/".join(parts)


def decode_path(escaped: str) -> str:
    """What `systemd-escape --unescape --path` does."""
    data, rest = bytearray(), escaped.encode()
    while rest:
        if rest.startswith(b"\\x"):
            data.append(int(rest[2:4], 16))
            rest = rest[4:]
        else:
            data += b"/" if rest[:1] == b"-" else rest[:1]
            rest = rest[1:]
    return data.decode()
