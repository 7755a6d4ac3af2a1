"""How a node takes leave of its cluster: its pods move and its Node goes while it can still speak."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from flexnode.clock import Clock
from flexnode.errors import FlexError, KubeError
from flexnode.flows.drain import OUT_OF_TIME, Patience, drain
from flexnode.flows.node_api import has_joined, is_same_machine
from flexnode.generation.apply import Stopped
from flexnode.host.door import Host
from flexnode.kube import Api, Code
from flexnode.kube.judgement import DrainPolicy
from flexnode.kube.nodes import delete_node, find_node
from flexnode.progress import Progress, Silent

EVERYTHING = DrainPolicy(delete_empty_dir_data=True, evict_unmanaged=True)
"""Who takes the machine away takes what only lives on it, too."""


@dataclass(kw_only=True, slots=True)
class Leaving:
    """What the handler of Node objects calls, and calls again after a failure that may pass.

    `force`: go on without the cluster.
    """

    host: Host
    clock: Clock
    system_uuid: str
    connect: Callable[[], AbstractContextManager[Api]]
    force: bool = False
    patience: Patience = field(default_factory=Patience)
    progress: Progress = field(default_factory=Silent)
    stop: Callable[[], bool] = lambda: False
    reservations: list[str] = field(default_factory=list)
    _impatience: FlexError | None = None

    def __call__(self, name: str) -> None:
        """Done as well if the Node is gone, was never there, or is another machine's."""
        if not has_joined(self.host):
            return
        try:
            with self.connect() as api:
                self._leave(api, name)
        except Stopped:
            raise
        except FlexError as error:
            if not self.force:
                raise _with_way_out(error) from error
            self.reservations.append(
                f"the cluster was not told, and may still list {name}: {error.message};"
                f" an administrator removes it: kubectl delete node {name}"
            )

    def _leave(self, api: Api, name: str) -> None:
        node = find_node(api, name)
        if node is None or not is_same_machine(node.system_uuid, self.system_uuid):
            return
        self._drain(api, name)
        with self.progress.step(f"delete the Node {name}"):
            try:
                delete_node(api, name, uid=node.uid)
            except KubeError as error:
                if error.code != Code.FORBIDDEN:
                    raise
                self.reservations.append(
                    f"this node may not delete itself; an administrator does: kubectl delete node {name}"
                )

    def _drain(self, api: Api, name: str) -> None:
        if self._impatience is not None:
            raise self._impatience  # its time is for the whole operation, not for each attempt
        try:
            with self.progress.step(f"drain {name}"):
                drain(
                    api,
                    name,
                    policy=EVERYTHING,
                    patience=self.patience,
                    clock=self.clock,
                    progress=self.progress,
                    stop=self.stop,
                )
        except Stopped:
            raise
        except FlexError as error:
            if not self.force:
                self._impatience = error if error.code == OUT_OF_TIME else None
                raise
            self.reservations.append(f"not every pod was moved away: {error.message}")


def _with_way_out(error: FlexError) -> FlexError:
    hint = "go on without the cluster with --force"
    return FlexError(
        error.message,
        code=error.code,
        transient=error.transient,
        hint=f"{error.hint}; or {hint}" if error.hint else hint,
        retry_after=error.retry_after,
    )
