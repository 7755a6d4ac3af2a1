"""The components whose work may live in an image. None of them can see a cluster or a credential."""

from __future__ import annotations

from collections.abc import Callable

from flexnode.components.authorities import compose_authorities
from flexnode.components.cni import compose_cni
from flexnode.components.containerd import compose_containerd
from flexnode.components.crictl import compose_crictl
from flexnode.components.inputs import MachineInputs
from flexnode.components.journal import compose_journal
from flexnode.components.kernel import compose_kernel
from flexnode.components.kubelet import compose_kubelet
from flexnode.components.preload import compose_images
from flexnode.components.proxy import compose_proxy
from flexnode.components.registries import compose_registries
from flexnode.components.runc import compose_runc
from flexnode.components.support import compose_support_tools
from flexnode.components.swap import compose_swap
from flexnode.components.time_sync import compose_time_sync
from flexnode.components.updates import compose_updates
from flexnode.resources import Resource

BAKED: tuple[Callable[[MachineInputs], tuple[Resource, ...]], ...] = (
    compose_updates,  # before any package is installed
    compose_support_tools,
    compose_kernel,
    compose_swap,
    compose_journal,
    compose_time_sync,
    compose_authorities,
    compose_runc,
    compose_cni,
    compose_proxy,
    compose_registries,
    compose_containerd,
    compose_images,
    compose_crictl,
    compose_kubelet,
)
"""In the order in which they are applied, as far as no dependency says otherwise."""
