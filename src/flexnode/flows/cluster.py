"""Give a cluster what it needs before nodes can join it."""

from __future__ import annotations

from dataclasses import dataclass

from flexnode.clock import Clock
from flexnode.kube import Api
from flexnode.kube.apply import Applied, apply
from flexnode.kube.manifests import Object, compose_setup
from flexnode.progress import Progress
from flexnode.retry import retry

DELAYS = (1.0, 2.0, 4.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """One object of the cluster, and what became of it."""

    kind: str
    name: str
    namespace: str
    result: Applied

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.kind} {self.name}{where}"


def set_up_cluster(api: Api, *, clock: Clock, progress: Progress) -> tuple[Piece, ...]:
    """Apply everything; safe to repeat, and a second run changes nothing."""
    manifests = compose_setup()
    pieces = []
    with progress.step(f"apply {len(manifests)} objects"):
        for manifest in manifests:
            pieces.append(_apply(api, manifest, clock))
            progress.note(str(pieces[-1]))
    return tuple(pieces)


def _apply(api: Api, manifest: Object, clock: Clock) -> Piece:
    result = retry(lambda: apply(api, manifest), delays=DELAYS, clock=clock)
    metadata = manifest["metadata"]
    return Piece(
        kind=manifest["kind"],
        name=metadata["name"],
        namespace=metadata.get("namespace", ""),
        result=result,
    )
