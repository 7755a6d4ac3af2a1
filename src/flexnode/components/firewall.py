"""Masquerade of pod traffic that leaves the cluster, in an nftables table that nobody else touches."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network

from flexnode.components.declare import running_unit, text_file, unit_file
from flexnode.components.ipv6 import split_networks, uses_ipv6
from flexnode.components.joining import NodeInputs
from flexnode.components.layout import BRIDGE, KUBERNETES
from flexnode.components.support import compose_package
from flexnode.model.machine import CniMode
from flexnode.model.spec import ClusterSpec
from flexnode.resources import Resource

TABLE = "aks-flex-node"
RULES = f"{KUBERNETES}/masquerade.nft"
UNIT = "aks-flex-node-firewall.service"

# Where a cluster's pods and services may be, as long as nobody says where they are.
_PRIVATE = [IPv4Network(each) for each in ("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16")]
_PRIVATE_6 = [IPv6Network("fc00::/7")]
# The metadata service of a cloud answers here, with the machine's own credentials: no pod asks in its name.
_LINK_LOCAL = IPv4Network("169.254.0.0/16")
_LINK_LOCAL_6 = IPv6Network("fe80::/10")

# A program of the user's that flushes all tables takes this one along: it comes back with nftables.service.
UNIT_FILE = f"""\
[Unit]
Description=Masquerade of pod traffic that leaves the cluster
After=nftables.service
PartOf=nftables.service
ReloadPropagatedFrom=nftables.service
Before=kubelet.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/sbin/nft -f {RULES}
ExecReload=/usr/sbin/nft -f {RULES}
ExecStop=-/usr/sbin/nft delete table inet {TABLE}

[Install]
WantedBy=multi-user.target
"""


def compose_firewall(inputs: NodeInputs) -> tuple[Resource, ...]:
    """Nothing, where the user keeps the firewall or the cluster brings its own pod network."""
    machine = inputs.machine
    if not machine.machine.host.manage_firewall or machine.machine.runtime.cni is not CniMode.BRIDGE:
        return ()
    packages, package = compose_package(machine, "nftables")
    return (
        *packages,
        text_file(RULES, render_rules(inputs.spec.cluster), reloads=(UNIT,)),
        unit_file(UNIT, UNIT_FILE),
        running_unit(UNIT, after=(package,)),
    )


def render_rules(cluster: ClusterSpec) -> str:
    """Replaces the table as a whole, in one transaction: no packet meets half of it."""
    known = [ip_network(each, strict=False) for each in _networks(cluster)]
    inside = [each for each in known if isinstance(each, IPv4Network)] or _PRIVATE
    rules = [_rule("ip", collapse_addresses((*inside, _LINK_LOCAL)))]
    if uses_ipv6(cluster):
        inside_6 = [each for each in known if isinstance(each, IPv6Network)] or _PRIVATE_6
        rules.append(_rule("ip6", collapse_addresses((*inside_6, _LINK_LOCAL_6))))
    chain = "\n".join(f"        {rule}" for rule in rules)
    return f"""\
# Made by aks-flex-node. The first two lines see to it that the table is not there yet.
table inet {TABLE}
delete table inet {TABLE}
table inet {TABLE} {{
    chain postrouting {{
        type nat hook postrouting priority srcnat; policy accept;
{chain}
    }}
}}
"""


def _networks(cluster: ClusterSpec) -> tuple[str, ...]:
    return (*split_networks(cluster.pod_cidr), *split_networks(cluster.service_cidr))


def _rule(family: str, inside: Iterable[IPv4Network] | Iterable[IPv6Network]) -> str:
    """What leaves the bridge for somewhere outside. nft refuses a set whose networks overlap."""
    networks = ", ".join(str(each) for each in inside)
    return f'iifname "{BRIDGE}" oifname != "{BRIDGE}" {family} daddr != {{ {networks} }} masquerade'
