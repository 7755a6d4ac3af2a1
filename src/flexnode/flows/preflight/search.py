"""Looking for artifacts at their sources without fetching them: each file is opened, and closed again."""

from __future__ import annotations

import threading
from collections.abc import Container, Sequence
from pathlib import Path

from flexnode.artifacts import HttpSettings, Offer, Source, Store, open_sources
from flexnode.artifacts.parallel import Stop, run_parallel
from flexnode.artifacts.proxies import redact
from flexnode.clock import Clock
from flexnode.digests import Digests
from flexnode.errors import ArtifactError
from flexnode.flows.preflight.situation import Answer, Sought
from flexnode.model.artifact import Artifact

WORKERS = 6


class Search:
    """Asks every source for every file that the store lacks: once, however often it is called."""

    def __init__(
        self,
        artifacts: Sequence[Artifact],
        sources: Sequence[str],
        *,
        optional: Container[str] = (),  # digests of what a node works without
        store: Path,
        http: HttpSettings,
        clock: Clock,
        digests: Digests | None = None,
    ) -> None:
        self._artifacts = artifacts
        self._sources = sources
        self._optional = optional
        self._store = Store(store, digests=digests)
        self._http = http
        self._clock = clock
        self._lock = threading.Lock()
        self._lock_of_store = threading.Lock()  # whoever asks for it does not wait for the network
        self._found: Sequence[Sought] | None = None
        self._missing: Sequence[Artifact] | None = None

    def missing(self) -> Sequence[Artifact]:
        """What neither the store has, nor a bundle or directory on this machine. Asks no server."""
        lacking: Sequence[Artifact] = self._not_stored()
        for text in filter(_is_local, self._sources):
            answers = zip(lacking, self._ask(text, lacking), strict=True)
            lacking = [each for each, said in answers if not any(answer.error is None for answer in said)]
        return lacking

    def _not_stored(self) -> Sequence[Artifact]:
        with self._lock_of_store:
            if self._missing is None:
                self._missing = [each for each in self._artifacts if not self._store.holds(each.sha256)]
            return self._missing

    def __call__(self) -> Sequence[Sought]:
        with self._lock:
            if self._found is None:
                self._found = self._search()
            return self._found

    def _search(self) -> Sequence[Sought]:
        missing = self._not_stored()
        answers: dict[str, list[Answer]] = {artifact.sha256: [] for artifact in missing}
        if missing:
            for text in self._sources:
                for artifact, answer in zip(missing, self._ask(text, missing), strict=True):
                    answers[artifact.sha256] += answer
        return [
            Sought(
                artifact=artifact,
                optional=artifact.sha256 in self._optional,
                stored=artifact.sha256 not in answers,
                answers=tuple(answers.get(artifact.sha256, ())),
            )
            for artifact in self._artifacts
        ]

    def _ask(self, text: str, missing: Sequence[Artifact]) -> list[list[Answer]]:
        """What one source says about each file. One that cannot even be opened says the same about all."""
        name = redact(text)
        try:
            with open_sources((text,), settings=self._http, clock=self._clock) as (source,):
                jobs = [lambda artifact=artifact: _look(name, source, artifact) for artifact in missing]
                return run_parallel(jobs, workers=WORKERS, stop=Stop())
        except ArtifactError as error:
            return [[Answer(source=name, error=error)] for _ in missing]


def _is_local(source: str) -> bool:
    return source != "vendor" and ("://" not in source or source.startswith("file://"))


def _look(name: str, source: Source, artifact: Artifact) -> list[Answer]:
    """The first good answer of one source, or the last bad one; nothing where it offers no such file."""
    answer: list[Answer] = []
    for offer in source.offers(artifact):
        answer = [_open(name, offer)]
        if answer[0].error is None:
            break
    return answer


def _open(name: str, offer: Offer) -> Answer:
    try:
        with offer.open(0) as stream:
            # The first bytes show what the headers do not: a login page, a connection that breaks at once.
            next(iter(stream.chunks), b"")
            return Answer(source=name, size=stream.total)
    except ArtifactError as error:
        return Answer(source=name, error=error)
