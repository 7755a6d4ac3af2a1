"""A node keeps as much from its pods as an AKS node of its size, and offers no pod without an address."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.components.reservations import kube_reserved, max_pods

GIB = 1 << 30
SIZES = st.integers(min_value=1, max_value=1 << 42)


@pytest.mark.parametrize(
    ("cpus", "millicores"), [(1, 60), (2, 100), (4, 140), (8, 180), (16, 260), (32, 420), (64, 740)]
)
def test_cores_are_reserved_as_aks_documents_it(cpus: int, millicores: int) -> None:
    assert kube_reserved(cpus, GIB)["cpu"] == f"{millicores}m"


@pytest.mark.parametrize(
    ("gib", "mebibytes"),
    [
        (1, 256),
        (4, 1024),
        (8, 1024 + 819),
        (16, 1024 + 819 + 819),
        (128, 1024 + 819 + 819 + 6881),
        (256, 1024 + 819 + 819 + 6881 + 2621),
    ],
)
def test_memory_is_reserved_by_bracket(gib: int, mebibytes: int) -> None:
    reserved = int(kube_reserved(1, gib * GIB)["memory"].removesuffix("Mi"))
    # The fractions of all brackets together make one mebibyte more, at most three.
    assert mebibytes <= reserved <= mebibytes + 3


@given(SIZES, SIZES)
def test_a_larger_machine_never_reserves_less_nor_all_of_it(one: int, other: int) -> None:
    small, large = (
        int(kube_reserved(1, size)["memory"].removesuffix("Mi")) << 20 for size in sorted((one, other))
    )
    assert small <= large <= max(one, other) // 4


@pytest.mark.parametrize(
    ("pod_cidr", "pods"),
    [
        (None, 110),
        ("10.244.0.0/16", 110),
        ("10.244.0.0/24", 110),
        ("10.244.0.0/26", 61),
        ("10.244.0.0/30", 1),
        ("10.244.0.0/32", 1),
        ("fd00::/64", 110),
        ("10.244.0.0/27, fd00::/64", 29),
    ],
)
def test_no_more_pods_than_addresses(pod_cidr: str | None, pods: int) -> None:
    assert max_pods(pod_cidr) == pods
