"""Fetching: source after source, resumed where it broke off, into the store only when the digest is right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flexnode.artifacts.failures import (
    Code,
    LocalFailure,
    Refusal,
    combine,
    failure,
    local_failure,
    render_size,
    settle,
)
from flexnode.artifacts.parallel import Stop, StoppableSleep, run_parallel
from flexnode.artifacts.rate import RateWatch, describe
from flexnode.artifacts.store import Partial, Store
from flexnode.artifacts.stream import Offer, Source, Stream
from flexnode.clock import Clock
from flexnode.errors import ArtifactError, FlexError
from flexnode.model import Artifact
from flexnode.progress import Progress, Silent
from flexnode.retry import retry

WORTH_RESUMING = 1 << 20
"""A connection that broke after this many bytes is taken up again at once; a partial of this size is kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How patient fetching is. `delays` are the pauses between rounds over all sources, in seconds."""

    parallel: int = 4
    min_rate: float = 10_000.0  # bytes per second
    window: float = 20.0
    delays: tuple[float, ...] = (1.0, 3.0, 8.0)
    max_size: int = 32 << 30  # for a file whose size nobody knows


class Fetcher:
    """Brings artifacts into `store`. The sources are asked in order, each one anew for every artifact."""

    def __init__(
        self,
        store: Store,
        sources: Sequence[Source],
        *,
        clock: Clock,
        limits: Limits | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._store = store
        self._sources = sources
        self._clock = clock
        self._limits = limits or Limits()
        self._progress = progress or Silent()

    def fetch(self, artifact: Artifact) -> Path:
        """The artifact's file in the store, checked just now; fetched if it is not there or is damaged.

        A terminal failure leaves nothing behind; a transient one may leave a partial that the next call
        resumes.
        """
        return self._fetch(artifact, Stop())

    def fetch_all(self, artifacts: Iterable[Artifact]) -> list[Path]:
        """All of them, a few at a time, in the order given; the first failure stops the rest."""
        wanted = list(artifacts)
        found = {artifact.sha256: self._store.find(artifact.sha256) for artifact in wanted}
        paths = {sha256: path for sha256, path in found.items() if path is not None}
        missing = list({a.sha256: a for a in wanted if a.sha256 not in paths}.values())
        known = sum(artifact.size or 0 for artifact in missing)
        if missing:
            self._store.require_space(known, what=f"{len(missing)} files")
        stop = Stop()
        jobs = [lambda artifact=artifact: self._fetch(artifact, stop) for artifact in missing]
        fetched = run_parallel(jobs, workers=self._limits.parallel, stop=stop)
        paths.update(zip((artifact.sha256 for artifact in missing), fetched, strict=True))
        return [paths[artifact.sha256] for artifact in wanted]

    def _fetch(self, artifact: Artifact, stop: Stop) -> Path:
        if path := self._store.find(artifact.sha256):
            return path
        offers = [offer for source in self._sources for offer in source.offers(artifact)]
        if not offers:
            raise local_failure(Code.NO_SOURCE, f"no source offers {artifact}")
        with (
            self._progress.step(f"fetch {artifact}"),
            self._store.partial(artifact.sha256) as partial,
        ):
            # We may have waited while another process fetched it.
            if path := self._store.find(artifact.sha256):
                partial.discard()
                return path
            download = _Download(
                artifact=artifact,
                offers=offers,
                partial=partial,
                limits=self._limits,
                clock=StoppableSleep(self._clock, stop),
                progress=self._progress,
                stop=stop,
            )
            try:
                return download.run()
            except BaseException as error:
                lost = not isinstance(error, FlexError) or error.transient  # else wrong, not late
                full = isinstance(error, ArtifactError) and error.code == Code.NO_SPACE
                if full or not lost or partial.size < WORTH_RESUMING:
                    partial.discard()
                raise


@dataclass(kw_only=True, slots=True)
class _Download:
    """One file on its way in. `gave_up` remembers places whose answer will not get better."""

    artifact: Artifact
    offers: list[Offer]
    partial: Partial
    limits: Limits
    clock: StoppableSleep
    progress: Progress
    stop: Stop
    gave_up: dict[int, Refusal] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)

    def run(self) -> Path:
        try:
            outcome = retry(
                self._round, delays=self.limits.delays, clock=self.clock, on_retry=self._tell_retry
            )
        except LocalFailure:
            raise
        except ArtifactError as error:
            raise settle(self.artifact, self.refusals) from error
        # Local trouble is returned, not raised: a pause does not make room on a disk.
        if isinstance(outcome, LocalFailure):
            raise outcome
        return outcome

    def _round(self) -> Path | LocalFailure:
        """Ask every place that may still have the file, in order."""
        self.refusals = []
        for number, offer in enumerate(self.offers):
            if refusal := self.gave_up.get(number):
                self.refusals.append(refusal)
                continue
            try:
                return self._take(offer)
            except LocalFailure as error:
                return error
            except ArtifactError as error:
                refusal = Refusal(place=offer.place, error=error)
                self.refusals.append(refusal)
                if not error.transient:
                    self.gave_up[number] = refusal
        raise combine(self.artifact, self.refusals)

    def _take(self, offer: Offer) -> Path:
        """The whole file from one place; what earlier attempts brought is kept, unless it turns out wrong."""
        if self.partial.digest == self.artifact.sha256:  # whole already: killed just before it got its name
            return self.partial.commit()
        resumed = self.partial.size > 0
        while True:
            before = self.partial.size
            try:
                with offer.open(before) as stream:
                    if stream.offset != before:
                        self.partial.restart()
                    self._copy(offer, stream)
            except ArtifactError as error:
                broke = error.code in (Code.CONNECTION_LOST, Code.TRUNCATED)
                if broke and self.partial.size - before >= WORTH_RESUMING:
                    resumed = True
                    continue
                raise
            got, size = self.partial.digest, self.partial.size
            if got == self.artifact.sha256:
                return self.partial.commit()
            self.partial.restart()
            if not resumed:
                raise failure(
                    Code.DIGEST_MISMATCH,
                    f"{render_size(size)} arrived with sha256 {got}, but it must be {self.artifact.sha256}",
                )
            resumed = False  # perhaps only what we resumed was wrong: once more, from the beginning

    def _copy(self, offer: Offer, stream: Stream) -> None:
        total = self._check_size(stream)
        limit = total if total is not None else self.limits.max_size
        watch = RateWatch(self.clock, least=self.limits.min_rate, window=self.limits.window)
        told = self.clock.monotonic()
        for chunk in stream.chunks:
            self.stop.check()
            if self.partial.size + len(chunk) > limit:
                self.partial.restart()
                raise failure(Code.DIGEST_MISMATCH, f"more than the {render_size(limit)} of the file arrived")
            self.partial.write(chunk)
            watch.feed(len(chunk))
            if self.clock.monotonic() - told >= 1:
                told = self.clock.monotonic()
                self.progress.note(f"{describe(self.partial.size, total, watch.rate())} from {offer.place}")
        if self.partial.size:
            self.progress.note(f"{describe(self.partial.size, None, watch.rate())} from {offer.place}")

    def _check_size(self, stream: Stream) -> int | None:
        """The size that the file will have. A source that announces another one is not worth reading."""
        known = self.artifact.size
        if known is not None and stream.total is not None and known != stream.total:
            raise failure(
                Code.DIGEST_MISMATCH,
                f"announces {stream.total} bytes, but the file has {known}",
            )
        total = known if known is not None else stream.total
        if total is not None:
            self.partial.expect(total)
        return total

    def _tell_retry(self, error: FlexError, delay: float) -> None:
        self.progress.note(f"{error.code}; trying again in {delay:.0f} s")
