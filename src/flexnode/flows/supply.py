"""Bringing a node's artifacts into its store, from the sources that its configuration names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flexnode.artifacts import Fetcher, Store, open_sources
from flexnode.clock import Clock
from flexnode.flows.cluster_facts import make_http_settings
from flexnode.flows.target import Target
from flexnode.generation.generation import Need
from flexnode.progress import Progress


def make_fetch(
    target: Target, store: Store, *, clock: Clock, progress: Progress
) -> Callable[[Sequence[Need]], None]:
    """A `Fetch` for this target. No source is opened before something is missing."""
    files = (*target.parts.artifacts.values(), *target.parts.debs)
    artifacts = {artifact.sha256: artifact for artifact in files}
    wanted = target.spec.artifacts
    settings = make_http_settings(target.spec)

    def fetch(needs: Sequence[Need]) -> None:
        missing = [artifacts[need.sha256] for need in needs if need.sha256 in artifacts]
        if not missing:
            return
        with (
            progress.step(f"fetch {len(missing)} files"),
            open_sources(wanted.sources, settings=settings, clock=clock) as sources,
        ):
            Fetcher(store, sources, clock=clock, progress=progress).fetch_all(missing)

    return fetch
