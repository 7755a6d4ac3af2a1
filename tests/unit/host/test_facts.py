"""A wrong fact composes a wrong node: each is read off machines as they really look."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.errors import FlexError
from flexnode.host.facts import (
    count_cpus,
    has_ipv6,
    parse_arch,
    parse_kernel,
    parse_memory,
    parse_os_release,
    read_facts,
)
from flexnode.host.fake import FakeHost
from flexnode.model.artifact import Arch

GLOBAL = "20010db8000000000000000000000007 02 40 00 80     eth0\n"
LINK_LOCAL = "fe8000000000000050540afffe000001 02 40 20 80     eth0\n"
OF_PODS = "20010db800000000000000000000f001 05 40 00 80     cni0\n"
UNREACHABLE = f"{'0' * 32} 00 {'0' * 32} 00 {'0' * 32} ffffffff 00000001 00000000 00200200       lo\n"
DEFAULT = f"{'0' * 32} 00 {'0' * 32} 00 fe80{'0' * 28} 00000400 00000001 00000000 00450003     eth0\n"


def test_a_stock_machine_is_known() -> None:
    facts = read_facts(FakeHost())
    assert (facts.arch, facts.os_id, facts.os_version, facts.codename) == (
        Arch.AMD64,
        "debian",
        "12",
        "bookworm",
    )
    assert (facts.cpus, facts.memory, facts.hostname) == (4, 8131108 * 1024, "node-1")
    assert facts.system_uuid == "6f1f0a5c-0f4e-4a4b-9a53-0a4f6f0e2f11"
    assert facts.kernel == (6, 1)
    assert facts.time_daemon == ""
    assert facts.resolved
    assert not facts.ipv6


def test_looking_changes_nothing() -> None:
    host = FakeHost()
    read_facts(host)
    assert host.writes == []


def test_a_root_file_system_without_a_kernel_has_no_facts_of_one() -> None:
    host = FakeHost(running=False)
    for path in [path for path in host.files.nodes if path.startswith(("/proc/", "/sys/"))]:
        del host.files.nodes[path]
    facts = read_facts(host)
    assert (facts.cpus, facts.memory, facts.system_uuid, facts.kernel) == (0, 0, "", (0, 0))
    assert facts.hostname == "node-1"
    assert facts.resolved  # it will run: it is enabled


@pytest.mark.parametrize("daemon", ["chrony.service", "ntpsec.service", "openntpd.service"])
def test_the_users_own_time_daemon_is_seen_while_it_is_down_too(daemon: str) -> None:
    host = FakeHost()
    host.units.place(daemon, enabled=True)
    assert read_facts(host).time_daemon == daemon


def test_what_the_product_itself_does_to_a_machine_is_no_fact() -> None:
    host = FakeHost()
    before = read_facts(host)
    host.units.place("kubelet.service", enabled=True, active=True)
    host.kernel.load_module("br_netfilter")
    host.files.place("/etc/sysctl.d/90-node.conf")
    host.files.place("/proc/net/if_inet6", OF_PODS)
    host.packages.install(["conntrack"])
    host.units.stop("systemd-resolved.service")
    assert read_facts(host) == before


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ("6.1.0-28-amd64\n", (6, 1)),
        ("5.15.0-1068-azure", (5, 15)),
        ("6.12+deb13-amd64", (6, 12)),
        ("6.8", (6, 8)),
        ("6.10-rc3", (6, 10)),
        ("4.19~custom", (4, 19)),
        ("v6.1.0", (0, 0)),
        ("linux 5.4.0", (0, 0)),
        ("6", (0, 0)),
        ("6.1x", (0, 0)),
        ("", (0, 0)),
    ],
)
def test_a_kernel_version_is_the_whole_beginning_of_its_release(
    release: str, version: tuple[int, int]
) -> None:
    assert parse_kernel(release) == version


@pytest.mark.parametrize(
    ("online", "count"), [("0\n", 1), ("0-3", 4), ("0-3,8-9,12\n", 7), ("", 0), ("none", 0)]
)
def test_cpus_are_counted_over_gaps(online: str, count: int) -> None:
    assert count_cpus(online) == count


def test_memory_is_in_bytes() -> None:
    assert parse_memory("MemFree: 1 kB\nMemTotal:        2048 kB\n") == 2 << 20
    assert parse_memory("") == 0


def test_quoted_values_of_the_release_file_are_read() -> None:
    text = "# comment\nID=ubuntu\nVERSION_ID=\"24.04\"\nPRETTY_NAME='it''s \\'\nBROKEN=\"\n"
    found = parse_os_release(text)
    assert found["ID"] == "ubuntu"
    assert found["VERSION_ID"] == "24.04"
    assert "BROKEN" not in found


@given(st.text())
def test_no_release_file_is_a_crash(text: str) -> None:
    assert all("\n" not in key for key in parse_os_release(text))


@pytest.mark.parametrize(
    "status",
    ["", "Package: bash\nArchitecture: amd64\n", "Package: dpkg\nArchitecture: riscv64\n", "Package: dpkg\n"],
)
def test_a_machine_that_no_node_can_be_made_of_is_refused_by_name(status: str) -> None:
    with pytest.raises(FlexError) as caught:
        parse_arch(status)
    assert caught.value.code == "host/unsupported"
    assert caught.value.hint


def test_the_architecture_is_that_of_dpkg_not_of_a_foreign_package() -> None:
    status = "Package: libc6\nArchitecture: amd64\n\nPackage: dpkg\nVersion: 1\nArchitecture: arm64\n"
    assert parse_arch(status) is Arch.ARM64


@pytest.mark.parametrize(
    ("addresses", "routes", "reachable"),
    [
        (GLOBAL, DEFAULT, True),
        (GLOBAL, "", False),
        (GLOBAL, UNREACHABLE, False),
        (LINK_LOCAL, DEFAULT, False),
        (LINK_LOCAL + OF_PODS, DEFAULT, False),
        ("", "", False),
        ("garbage\n", "garbage\n", False),
    ],
)
def test_ipv6_counts_where_it_leads_anywhere(addresses: str, routes: str, reachable: bool) -> None:
    assert has_ipv6(addresses, routes) is reachable
