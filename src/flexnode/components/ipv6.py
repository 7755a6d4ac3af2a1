"""IPv6 forwarding, on nodes of clusters whose pods or services have IPv6 addresses."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

from flexnode.components.declare import text_file
from flexnode.components.joining import NodeInputs
from flexnode.components.kernel import SYSCTLS_DIRECTORY, render_sysctls, sysctls
from flexnode.model.spec import ClusterSpec
from flexnode.resources import Resource

FILE = f"{SYSCTLS_DIRECTORY}/99-zz-aks-flex-node-ipv6.conf"
FORWARDING = {"net.ipv6.conf.all.forwarding": "1"}


def compose_ipv6(inputs: NodeInputs) -> tuple[Resource, ...]:
    """Only where it is used: a machine that forwards no longer listens to router advertisements, unless its
    network is set up to.

    The node does not tell it to listen all the same: every interface made later would, pods' among them.
    """
    if not uses_ipv6(inputs.spec.cluster) or not FORWARDING.keys() - inputs.spec.machine.host.sysctls.keys():
        return ()
    return (text_file(FILE, render_sysctls(FORWARDING)), *sysctls(FORWARDING))


def uses_ipv6(cluster: ClusterSpec) -> bool:
    """Whether pods or services of this cluster have IPv6 addresses, as far as is known."""
    networks = (*split_networks(cluster.pod_cidr), *split_networks(cluster.service_cidr))
    service = cluster.dns_service_ip
    return any(ip_network(each, strict=False).version == 6 for each in networks) or (
        service is not None and ip_address(service).version == 6
    )


def split_networks(text: str | None) -> tuple[str, ...]:
    """The networks of a setting that holds one, or one for each family with a comma between."""
    return tuple(each.strip() for each in (text or "").split(",") if each.strip())
