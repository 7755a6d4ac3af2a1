"""The kernel is asked and told where it really listens."""

from __future__ import annotations

from pathlib import Path

import pytest

from flexnode.errors import FlexError
from flexnode.host.kernel import RunningKernel, parse_builtin, parse_swaps, sysctl_path
from unit.host.programs import Programs, fails, make_files

SWAPS = """\
Filename				Type		Size		Used		Priority
/dev/vda2                               partition	1048572		0		-2
/swap\\040file                           file		2097148		0		-3
"""
MODULES = "br_netfilter 36864 0 - Live 0x0\nbridge 311296 1 br_netfilter, Live 0x0\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_files(
        tmp_path,
        proc__sys__net__ipv4__ip_forward="0\n",
        proc__sys__net__ipv4__ip_local_port_range="32768\t60999\n",
        proc__modules=MODULES,
        proc__swaps=SWAPS,
    )
    (tmp_path / "proc/sys/net/ipv4/conf/eth0.100").mkdir(parents=True)
    (tmp_path / "proc/sys/net/ipv4/conf/eth0.100/rp_filter").write_text("1\n")
    (tmp_path / "proc/sys/kernel").mkdir()
    (tmp_path / "proc/sys/kernel/osrelease").write_text("6.1.0-28-amd64\n")
    builtin = tmp_path / "lib/modules/6.1.0-28-amd64/modules.builtin"
    builtin.parent.mkdir(parents=True)
    builtin.write_text("kernel/fs/ext4/ext4.ko\nkernel/net/netfilter/nf-tables.ko.xz\n")
    return tmp_path


def test_values_are_read_with_their_spaces_folded(root: Path) -> None:
    kernel = RunningKernel(root=root)
    assert kernel.find_sysctl("net.ipv4.ip_forward") == "0"
    assert kernel.find_sysctl("net.ipv4.ip_local_port_range") == "32768 60999"
    assert kernel.find_sysctl("net.bridge.bridge-nf-call-iptables") is None


def test_a_value_is_set_in_place(root: Path) -> None:
    kernel = RunningKernel(root=root)
    kernel.set_sysctl("net.ipv4.ip_forward", "1")
    assert kernel.find_sysctl("net.ipv4.ip_forward") == "1"
    with pytest.raises(FlexError) as caught:
        kernel.set_sysctl("net.bridge.bridge-nf-call-iptables", "1")
    assert caught.value.code == "host/no-such-sysctl"
    assert not (root / "proc/sys/net/bridge").exists()


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("net.ipv4.ip_forward", "net/ipv4/ip_forward"),
        ("net.ipv4.conf.eth0/100.rp_filter", "net/ipv4/conf/eth0.100/rp_filter"),
        ("net/ipv4/conf/eth0.100/rp_filter", "net/ipv4/conf/eth0.100/rp_filter"),
    ],
)
def test_a_dot_in_an_interfaces_name_has_a_way_to_be_written(key: str, path: str, root: Path) -> None:
    assert sysctl_path(key) == path
    assert RunningKernel(root=root).find_sysctl(key) is not None


@pytest.mark.parametrize(
    ("name", "there"),
    [("br_netfilter", True), ("br-netfilter", True), ("ext4", True), ("nf_tables", True), ("overlay", False)],
)
def test_a_module_is_there_when_loaded_or_built_in(name: str, there: bool, root: Path) -> None:
    assert RunningKernel(root=root).has_module(name) is there


def test_only_what_is_missing_is_loaded_and_only_what_is_loaded_unloaded(root: Path) -> None:
    programs = Programs()
    kernel = RunningKernel(root=root, run=programs.run)
    kernel.load_module("ext4")
    kernel.load_module("overlay")
    kernel.unload_module("ext4")
    kernel.unload_module("overlay")
    kernel.unload_module("br_netfilter")
    assert programs.lines == ["modprobe -- overlay", "modprobe -r -- br_netfilter"]


@pytest.mark.parametrize(
    ("words", "code", "transient"),
    [
        ("modprobe: FATAL: Module x not found in directory /lib/modules/6.1", "host/no-such-module", False),
        ("modprobe: ERROR: could not insert 'x': Required key not available", "host/module-refused", False),
    ],
)
def test_a_module_that_cannot_be_loaded_says_why(words: str, code: str, transient: bool, root: Path) -> None:
    programs = Programs({"modprobe": [fails(words)]})
    with pytest.raises(FlexError) as caught:
        RunningKernel(root=root, run=programs.run).load_module("x")
    assert (caught.value.code, caught.value.transient) == (code, transient)
    assert caught.value.hint


def test_a_module_in_use_is_told_from_other_failures(root: Path) -> None:
    programs = Programs({"modprobe": [fails("modprobe: FATAL: Module bridge is in use.")]})
    with pytest.raises(FlexError) as caught:
        RunningKernel(root=root, run=programs.run).unload_module("bridge")
    assert caught.value.code == "host/module-in-use"


def test_swap_is_switched_only_where_it_is_not_so_already(root: Path) -> None:
    programs = Programs()
    kernel = RunningKernel(root=root, run=programs.run)
    assert kernel.swaps() == ("/dev/vda2", "/swap file")
    kernel.swap_off("/dev/vda3")
    kernel.swap_on("/dev/vda2")
    kernel.swap_off("/swap file")
    kernel.swap_on("/dev/vda3")
    assert [command.argv for command in programs.commands] == [
        ("swapoff", "/swap file"),
        ("swapon", "/dev/vda3"),
    ]


def test_swap_that_does_not_fit_into_memory_says_so(root: Path) -> None:
    programs = Programs({"swapoff": [fails("swapoff: /dev/vda2: swapoff failed: Cannot allocate memory")]})
    with pytest.raises(FlexError, match="Cannot allocate memory") as caught:
        RunningKernel(root=root, run=programs.run).swap_off("/dev/vda2")
    assert caught.value.code == "host/swap"
    assert "free memory" in caught.value.hint


def test_without_a_kernel_nothing_is_known(tmp_path: Path) -> None:
    kernel = RunningKernel(root=tmp_path)
    assert kernel.find_sysctl("net.ipv4.ip_forward") is None
    assert kernel.has_module("overlay") is None
    assert kernel.swaps() == ()


def test_tables_of_the_kernel_are_read_whatever_they_hold() -> None:
    assert parse_swaps("") == ()
    assert parse_builtin("") == frozenset()
