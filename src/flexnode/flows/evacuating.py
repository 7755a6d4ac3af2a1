"""How a node's pods move away before what they rely on changes, and come back once it is Ready again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from flexnode.clock import Clock
from flexnode.errors import KubeError
from flexnode.flows.drain import Patience, drain
from flexnode.flows.node_api import UNREACHABLE, find_node_name, has_joined, is_same_machine
from flexnode.generation.generation import Generation
from flexnode.host.door import Host
from flexnode.kube import Api
from flexnode.kube.judgement import DrainPolicy
from flexnode.kube.nodes import Node, find_node, uncordon
from flexnode.model.spec import DrainSpec
from flexnode.progress import Progress, Silent
from flexnode.retry import retry

DELAYS = (1.0, 2.0, 4.0)


@dataclass(kw_only=True, slots=True)
class Evacuating:
    """An `Evacuation`. `connect` gives the API as the node itself: it may do all of this.

    `urgent`: go on where the cluster cannot be asked. The way back has to work without a network.
    """

    host: Host
    clock: Clock
    system_uuid: str
    connect: Callable[[], AbstractContextManager[Api]]
    urgent: bool = False
    spec: DrainSpec = field(default_factory=DrainSpec)
    progress: Progress = field(default_factory=Silent)
    stop: Callable[[], bool] = lambda: False
    reservations: list[str] = field(default_factory=list)

    def drain(self, generation: Generation, cordoning: Callable[[], None], /) -> None:
        if not has_joined(self.host):
            return
        with self.connect() as api:
            try:
                node = self._find(api, generation)
            except KubeError as error:
                if not self.urgent or error.code not in UNREACHABLE:
                    raise
                self.reservations.append(f"pods were not moved away, since nobody answers: {error.message}")
                return
            if node is None:
                return
            if not node.unschedulable:
                cordoning()
            drain(
                api,
                node.name,
                policy=DrainPolicy(
                    delete_empty_dir_data=self.spec.delete_empty_dir_data,
                    evict_unmanaged=self.spec.evict_unmanaged,
                ),
                patience=Patience(seconds=self.spec.timeout),
                clock=self.clock,
                progress=self.progress,
                stop=self.stop,
            )

    def uncordon(self, generation: Generation, /) -> None:
        """Done as well if somebody did it, or the Node is gone."""
        if has_joined(self.host):
            retry(lambda: self._uncordon(generation), delays=DELAYS, clock=self.clock)

    def _uncordon(self, generation: Generation) -> None:
        with self.connect() as api:
            node = self._find(api, generation)
            if node is not None and node.unschedulable:
                uncordon(api, node.name)

    def _find(self, api: Api, generation: Generation) -> Node | None:
        """This machine's Node; None where there is none, or its name is another machine's."""
        name = find_node_name(generation)
        node = find_node(api, name) if name else None
        return node if node and is_same_machine(node.system_uuid, self.system_uuid) else None
