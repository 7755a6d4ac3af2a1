"""Checks of the machine's own network against the cluster's: ranges that overlap, packets that do not fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from flexnode.flows.preflight.check import Finding, error, ok, skipped, warning
from flexnode.flows.preflight.reading import find_text
from flexnode.flows.preflight.situation import Situation
from flexnode.host.door import Host

Network = IPv4Network | IPv6Network

LEAST_MTU = 1280
GOOD_MTU = 1450

OF_PODS = ("cni", "cali", "cilium", "flannel", "kube", "lxc", "veth", "vxlan.calico", "tunl", "nodelocaldns")
"""How the interfaces begin that carry a node's pods: their routes are the cluster's own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """One route of the main table."""

    network: Network
    device: str

    @property
    def default(self) -> bool:
        return self.network.prefixlen == 0


def check_network_overlap(situation: Situation) -> Iterator[Finding]:
    cluster = situation.spec.cluster
    ranges = {
        f"the {name} range {network}": network
        for name, text in (("pod", cluster.pod_cidr), ("service", cluster.service_cidr))
        for network in parse_networks(text or "")
    }
    if not ranges:
        yield skipped("the cluster's pod and service ranges are not known")
        return
    findings = [*_overlaps(situation, ranges), *_misplaced(situation, ranges)]
    yield from findings
    if not findings:
        yield ok(f"no route of this machine meets {' or '.join(ranges)}")


def check_mtu(situation: Situation) -> Iterator[Finding]:
    devices = dict.fromkeys(route.device for route in find_routes(situation.host) if route.default)
    if not devices:
        yield skipped("there is no default route")
    for device in devices:
        text = (find_text(situation.host, f"/sys/class/net/{device}/mtu") or "").strip()
        mtu = int(text) if text.isdigit() else 0
        words = f"{device} carries packets of {mtu} bytes"
        if not mtu:
            yield skipped(f"the MTU of {device} is not known")
        elif mtu < LEAST_MTU:
            yield error(
                "preflight/mtu",
                f"{words}: IPv6 and most tunnels of clusters need {LEAST_MTU}",
                hint=f"raise the MTU of {device}; behind a VPN, raise that of the VPN",
            )
        elif mtu < GOOD_MTU:
            yield warning(
                "preflight/mtu-small",
                f"{words}: with a tunnel's header, what pods of other nodes send may not fit",
                hint=f"raise the MTU of {device} to {GOOD_MTU}, or lower that of the cluster's network",
            )
        else:
            yield ok(words)


def find_routes(host: Host) -> tuple[Route, ...]:
    """The routes of the main tables, both families; the loopback's and unreachable ones left out."""
    four = (find_text(host, "/proc/net/route") or "").splitlines()[1:]
    six = (find_text(host, "/proc/net/ipv6_route") or "").splitlines()
    routes = [*map(_parse_route, four), *map(_parse_route6, six)]
    return tuple(route for route in routes if route is not None and route.device != "lo")


def _overlaps(situation: Situation, ranges: Mapping[str, Network]) -> Iterator[Finding]:
    for route in find_routes(situation.host):
        if route.default or route.device.startswith(OF_PODS):
            continue
        for what, network in ranges.items():
            if not route.network.overlaps(network):
                continue
            words = f"{what} meets this machine's route to {route.network} through {route.device}"
            hint = "choose other ranges for the cluster, or another network for this machine"
            if route.network.prefixlen < network.prefixlen:
                yield warning(
                    "preflight/network-hidden",
                    f"{words}: pods could not reach that part of it",
                    hint=f"{hint}; it does no harm if nothing there is needed",
                )
            else:
                yield error(
                    "preflight/network-overlap", f"{words}: one of the two would not be reached", hint=hint
                )


def _misplaced(situation: Situation, ranges: Mapping[str, Network]) -> Iterator[Finding]:
    """Addresses that must not, or must, lie in a range of the cluster."""
    cluster = situation.spec.cluster
    server = _find_address(urlsplit(cluster.server).hostname or "")
    for what, network in ranges.items():
        if server is not None and server in network:
            yield error(
                "preflight/server-in-range",
                f"the API server's address {server} lies in {what}",
                hint="use the API server's address outside of the cluster, or correct the range",
            )
    dns = _find_address(cluster.dns_service_ip or "")
    services = parse_networks(cluster.service_cidr or "")
    if dns is not None and services and not any(dns in network for network in services):
        yield error(
            "preflight/dns-outside-range",
            f"the cluster's DNS service {dns} lies outside of the service range {cluster.service_cidr}",
            hint="correct cluster.dnsServiceIP or cluster.serviceCIDR; kubectl -n kube-system get service"
            " kube-dns tells the address",
        )


def parse_networks(text: str) -> tuple[Network, ...]:
    """The ranges in a setting: none, one, or one of each family with a comma between."""
    return tuple(ip_network(each.strip(), strict=False) for each in text.split(",") if each.strip())


def _find_address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _parse_route(line: str) -> Route | None:
    """A line of /proc/net/route: addresses are hexadecimal words in the machine's own byte order."""
    fields = line.split()
    if len(fields) < 8 or not int(fields[3], 16) & 0x1:  # RTF_UP
        return None
    # Every processor that is supported is little-endian.
    address, mask = (IPv4Address(bytes.fromhex(fields[at])[::-1]) for at in (1, 7))
    return Route(network=ip_network(f"{address}/{mask}", strict=False), device=fields[0])


def _parse_route6(line: str) -> Route | None:
    """A line of /proc/net/ipv6_route; link-local, multicast and rejecting routes are nobody's network."""
    fields = line.split()
    if len(fields) < 10 or int(fields[8], 16) & 0x0200:  # RTF_REJECT
        return None
    network = IPv6Network((bytes.fromhex(fields[0]), int(fields[1], 16)), strict=False)
    local = network.is_link_local or network.is_multicast
    return None if local else Route(network=network, device=fields[9])
