"""Where an operation on a node works: the machine, what the product knows of it, time, and who watches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from flexnode.clock import Clock
from flexnode.digests import Digests
from flexnode.generation.directory import StateDirectory
from flexnode.host.door import Host
from flexnode.kube.kubelet_health import find_kubelet_fault
from flexnode.progress import Progress, Silent


@dataclass(frozen=True, kw_only=True, slots=True)
class Workplace:
    """`stop` is asked between steps: once it says yes, the operation ends where it can be gone on with.

    `digests`: what is known of the host's files, and of the product's own.
    """

    host: Host
    clock: Clock
    directory: StateDirectory = field(default_factory=StateDirectory)
    digests: Digests = field(default_factory=Digests)
    progress: Progress = field(default_factory=Silent)
    find_kubelet_fault: Callable[[], str] = find_kubelet_fault
    stop: Callable[[], bool] = lambda: False
