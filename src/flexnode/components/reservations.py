"""What of a machine is kept from pods, by AKS's brackets: the larger the machine, the smaller the share."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_network

from flexnode.components.ipv6 import split_networks

MIB = 1 << 20
GIB = 1 << 30

# How much of it comes in a bracket, and what share of that is reserved. The last bracket has no end.
_CORES = ((1, 6), (1, 4), (2, 2), (None, 1))
_MEMORY = ((4 * GIB, 25), (4 * GIB, 20), (8 * GIB, 10), (112 * GIB, 6), (None, 2))

MAX_PODS = 110
# The network, the bridge and the broadcast address.
_NOT_FOR_PODS = 3


def kube_reserved(cpus: int, memory: int) -> dict[str, str]:
    """For kubelet and the runtime, on a machine with so many cores and bytes of memory."""
    millicores = _reserve(cpus * 1000, tuple((_times(size, 1000), share) for size, share in _CORES))
    return {"cpu": f"{millicores}m", "memory": f"{_reserve(memory, _MEMORY) // MIB}Mi"}


def max_pods(pod_cidr: str | None) -> int:
    """Kubernetes' own bound, or less where the cluster's pod network is smaller than that."""
    networks = [ip_network(each, strict=False) for each in split_networks(pod_cidr)]
    return max(1, min([MAX_PODS, *(each.num_addresses - _NOT_FOR_PODS for each in networks)]))


EVICTION_HARD: Mapping[str, str] = {
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
}
"""kubelet's own. A list that is given to it replaces them all, so they are said again beside the user's."""


def _reserve(amount: int, brackets: tuple[tuple[int | None, int], ...]) -> int:
    reserved = 0
    for size, share in brackets:
        part = amount if size is None else min(amount, size)
        reserved += part * share // 100
        amount -= part
    return reserved


def _times(size: int | None, factor: int) -> int | None:
    return None if size is None else size * factor
