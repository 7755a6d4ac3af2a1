"""Settings of the user's own that would break a node's network are named, and left alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.artifacts import load_proxies
from flexnode.flows.preflight import Level, Ours
from flexnode.flows.preflight.storage import parse_mounts
from flexnode.flows.preflight.sysctls import parse_settings
from flexnode.host.fake import FakeHost
from unit.flows.preflight.samples import (
    LEGACY,
    NFT,
    ROUTES,
    SERVER,
    SPEC,
    Case,
    findings,
    host_spec,
    printed,
    situation,
    stock,
)

Change = Callable[[FakeHost], None]

NFT_CHAINS = """\
table inet filter {
	chain input {
		type filter hook input priority filter; policy drop;
	}
	chain forward {
		type filter hook forward priority filter; policy drop;
	}
	chain output {
		type filter hook output priority filter; policy accept;
	}
}
table inet aks-flex-node {
	chain forward {
		type filter hook forward priority filter; policy drop;
	}
}
"""


def having(path: str, text: str) -> Change:
    return lambda host: host.files.place(path, text)


def routes(*lines: str) -> Change:
    return having("/proc/net/route", ROUTES + "".join(line + "\n" for line in lines))


def route(device: str, network: str, mask: str) -> str:
    return f"{device}\t{network}\t00000000\t0001\t0\t0\t0\t{mask}\t0\t0\t0"


def ranges(**changes: Any) -> dict[str, Any]:
    return {"spec": replace(SPEC, cluster=replace(SPEC.cluster, **changes))}


def proxied(no_proxy: str, server: str = SERVER) -> dict[str, Any]:
    environ = {"https_proxy": "http://user:password@proxy.example:3128", "no_proxy": no_proxy}
    return {"proxies": load_proxies(environ), **ranges(server=server)}


def saying(argv: tuple[str, ...], text: str) -> Change:
    def answer(host: FakeHost) -> None:
        host.answers[argv] = printed(text)

    return answer


def chains(text: str) -> Change:
    return saying(NFT, text)


CASES = [
    Case(
        about="a route inside the pod range",
        check="network-overlap",
        level=Level.ERROR,
        code="preflight/network-overlap",
        says="the pod range 10.244.0.0/16 meets this machine's route to 10.244.7.0/24 through wg0",
        hint="other ranges",
        host=routes(route("wg0", "0007F40A", "00FFFFFF")),
    ),
    Case(
        about="the machine's own network inside the service range",
        check="network-overlap",
        level=Level.ERROR,
        code="preflight/network-overlap",
        says="the service range 10.96.0.0/12",
        hint="another network",
        host=routes(route("eth0", "0000600A", "0000FFFF")),
    ),
    Case(
        about="a route to a larger network around the pod range",
        check="network-overlap",
        level=Level.WARNING,
        code="preflight/network-hidden",
        says="10.240.0.0/12",
        hint="no harm",
        host=routes(route("tun0", "0000F00A", "0000F0FF")),
    ),
    Case(
        about="the second family of a cluster of two",
        check="network-overlap",
        level=Level.ERROR,
        code="preflight/network-overlap",
        says="fd00:10:244::/56",
        hint="other ranges",
        host=having(
            "/proc/net/ipv6_route",
            "fd000010024400000000000000000000 40 00000000000000000000000000000000 00 "
            "00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth1\n"
            "fe800000000000000000000000000000 40 00000000000000000000000000000000 00 "
            "00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth1\n",
        ),
        changes=ranges(pod_cidr="10.244.0.0/16,fd00:10:244::/56"),
    ),
    Case(
        about="the bridge of a node that has joined",
        check="network-overlap",
        level=Level.OK,
        host=routes(route("cni0", "0003F40A", "00FFFFFF")),
        changes={"ours": Ours(joined=True)},
    ),
    Case(
        about="an API server inside the service range",
        check="network-overlap",
        level=Level.ERROR,
        code="preflight/server-in-range",
        says="10.96.0.1",
        hint="API server's address",
        changes=ranges(server="https://10.96.0.1:443"),
    ),
    Case(
        about="a DNS service outside of the service range",
        check="network-overlap",
        level=Level.ERROR,
        code="preflight/dns-outside-range",
        says="10.0.0.10",
        hint="cluster.dnsServiceIP",
        changes=ranges(dns_service_ip="10.0.0.10"),
    ),
    Case(
        about="ranges that nobody knows",
        check="network-overlap",
        level=Level.SKIPPED,
        changes=ranges(pod_cidr=None, service_cidr=None),
    ),
    Case(
        about="a tunnel with small packets",
        check="mtu",
        level=Level.WARNING,
        code="preflight/mtu-small",
        says="1420",
        hint="1450",
        host=having("/sys/class/net/eth0/mtu", "1420\n"),
    ),
    Case(
        about="packets that are too small for IPv6",
        check="mtu",
        level=Level.ERROR,
        code="preflight/mtu",
        hint="raise the MTU of eth0",
        host=having("/sys/class/net/eth0/mtu", "576\n"),
    ),
    Case(
        about="no default route", check="mtu", level=Level.SKIPPED, host=having("/proc/net/route", "Iface\n")
    ),
    Case(
        about="drops what is forwarded, and what comes in",
        check="firewall",
        level=Level.WARNING,
        code="preflight/firewall-forward",
        says="inet filter forward",
        hint="10250",
        host=chains(NFT_CHAINS),
    ),
    Case(
        about="drops what comes in",
        check="firewall",
        level=Level.WARNING,
        code="preflight/firewall-input",
        says="inet filter input",
        hint="10250",
        host=chains(NFT_CHAINS),
    ),
    Case(
        about="legacy tables drop what is forwarded",
        check="firewall",
        level=Level.WARNING,
        code="preflight/firewall-forward",
        says="ip filter FORWARD",
        hint="pods",
        host=saying(LEGACY, "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\nCOMMIT\n"),
    ),
    Case(
        about="ufw",
        check="firewall",
        level=Level.WARNING,
        code="preflight/firewall-ufw",
        says="drops what is forwarded",
        hint="ufw allow 10250/tcp",
        host=lambda host: (
            host.files.place("/etc/ufw/ufw.conf", "# comment\nENABLED=yes\n"),
            host.files.place("/etc/default/ufw", 'DEFAULT_FORWARD_POLICY="DROP"\n'),
        )[0],
    ),
    Case(
        about="ufw, switched off",
        check="firewall",
        level=Level.OK,
        host=having("/etc/ufw/ufw.conf", "ENABLED=no\n"),
    ),
    Case(
        about="firewalld",
        check="firewall",
        level=Level.WARNING,
        code="preflight/firewall-firewalld",
        hint="--add-port=10250/tcp",
        host=lambda host: host.units.place("firewalld.service", enabled=True, active=True),
    ),
    Case(
        about="one with a later name",
        check="sysctls",
        level=Level.WARNING,
        code="preflight/sysctl-overridden",
        says="/etc/sysctl.d/99-hardening.conf sets net.ipv4.ip_forward = 0 (needed: 1)",
        hint="host.sysctls",
        host=having("/etc/sysctl.d/99-hardening.conf", "# CIS\nnet.ipv4.ip_forward=0\n"),
    ),
    Case(
        about="the old file, which a link puts behind",
        check="sysctls",
        level=Level.WARNING,
        code="preflight/sysctl-overridden",
        says="/etc/sysctl.d/99-sysctl.conf sets",
        hint="/etc/sysctl.d/99-sysctl.conf",
        host=lambda host: (
            host.files.place("/etc/sysctl.conf", "-net/ipv4/ip_forward = 0\n"),
            host.files.place_link("/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf"),
        )[0],
    ),
    Case(
        about="one with an earlier name",
        check="sysctls",
        level=Level.OK,
        host=having("/etc/sysctl.d/10-network.conf", "net.ipv4.ip_forward=0\n"),
    ),
    Case(
        about="a later one that agrees, or speaks of something else",
        check="sysctls",
        level=Level.OK,
        host=having("/etc/sysctl.d/99-local.conf", "net.ipv4.ip_forward = 1\nvm.swappiness=10\n;x=1\n"),
    ),
    Case(
        about="one of the distribution that the user has hidden",
        check="sysctls",
        level=Level.OK,
        host=lambda host: (
            host.files.place("/usr/lib/sysctl.d/99-vendor.conf", "net.ipv4.ip_forward=0\n"),
            host.files.place("/etc/sysctl.d/99-vendor.conf", ""),
        )[0],
    ),
    Case(
        about="nobody knows what the node needs",
        check="sysctls",
        level=Level.SKIPPED,
        changes={"sysctl_file": ""},
    ),
    Case(
        about="unattended upgrades that the product reins in",
        check="updates",
        level=Level.OK,
        says="leave the node's services alone",
        host=lambda host: host.packages.present.add("unattended-upgrades"),
    ),
    Case(
        about="unattended upgrades that are the user's own business",
        check="updates",
        level=Level.WARNING,
        code="preflight/updates",
        says="needrestart",
        hint="host.manageUpdates: true",
        host=lambda host: host.packages.present.add("needrestart"),
        changes={"spec": host_spec(manage_updates=False)},
    ),
    Case(
        about="the API server behind it",
        check="proxy",
        level=Level.WARNING,
        code="preflight/proxy-api-server",
        says="api.cluster.example",
        hint="proxy.noProxy: api.cluster.example",
        changes=proxied("10.0.0.0/8,.svc,.cluster.local"),
    ),
    Case(
        about="the pod range behind it",
        check="proxy",
        level=Level.WARNING,
        code="preflight/proxy-pod-range",
        hint="proxy.noProxy: 10.244.0.0/16",
        changes=proxied(".cluster.example,10.96.0.0/12,.cluster.local"),
    ),
    Case(
        about="half of the service range behind it",
        check="proxy",
        level=Level.WARNING,
        code="preflight/proxy-service-range",
        hint="proxy.noProxy: 10.96.0.0/12",
        changes=proxied(".cluster.example,10.96.0.0/13,10.244.0.0/16,.cluster.local"),
    ),
    Case(
        about="the names of Services behind it",
        check="proxy",
        level=Level.WARNING,
        code="preflight/proxy-cluster-names",
        hint=".svc,.cluster.local",
        changes=proxied(".cluster.example,10.0.0.0/8"),
    ),
    Case(
        about="everything of the cluster exempt, and its password not told",
        check="proxy",
        level=Level.OK,
        says="http://proxy.example:3128, and the cluster is reached without it",
        changes=proxied(".cluster.example,10.0.0.0/8,.cluster.local"),
    ),
    Case(about="nothing goes through it", check="proxy", level=Level.OK, changes=proxied("*")),
    Case(
        about="one that only the login shells know",
        check="proxy",
        level=Level.WARNING,
        code="preflight/proxy-not-configured",
        hint="proxy.https",
        host=having("/etc/environment", 'PATH="/usr/bin"\nHTTPS_PROXY=http://proxy.example:3128\n'),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_network(case: Case) -> None:
    case.hold()


def test_a_table_of_the_product_is_not_held_against_it() -> None:
    host = stock()
    host.answers[NFT] = printed(NFT_CHAINS.replace("inet filter", "inet kube-proxy"))
    (finding,) = findings("firewall", situation(host))
    assert finding.level is Level.OK


def test_a_machine_without_any_filter_program_passes() -> None:
    host = stock()
    del host.answers[NFT]
    (finding,) = findings("firewall", situation(host))
    assert finding.level is Level.OK


@given(st.text())
def test_no_sysctl_file_is_a_crash(text: str) -> None:
    assert all(key for key in parse_settings(text))


@given(st.text())
def test_no_table_of_mounts_is_a_crash(text: str) -> None:
    assert all(mount.options for mount in parse_mounts(text))


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]+(\.[a-z]+){1,3}", fullmatch=True), st.from_regex(r"[0-9]+", fullmatch=True)
    )
)
def test_settings_are_read_as_they_are_written(settings: dict[str, str]) -> None:
    dotted = "".join(f"{key} = {value}\n" for key, value in settings.items())
    slashed = "".join(f"-{key.replace('.', '/')}={value}\n" for key, value in settings.items())
    assert parse_settings(dotted) == settings
    assert parse_settings(slashed) == settings
