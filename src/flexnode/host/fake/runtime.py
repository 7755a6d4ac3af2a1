"""A container runtime in memory: it answers while its unit is active."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flexnode.errors import FlexError
from flexnode.host.failures import Code, failure
from flexnode.host.fake.steps import Steps
from flexnode.host.fake.units import FakeUnits
from flexnode.host.image_archive import read_references


@dataclass
class FakeRuntime:
    """`up`: None follows containerd.service.

    `references` says which images an archive holds, by its file name; any other is read as an OCI archive.
    """

    units: FakeUnits
    steps: Steps
    up: bool | None = None
    stored: set[str] = field(default_factory=set)
    pods: list[str] = field(default_factory=list)
    references: dict[str, tuple[str, ...]] = field(default_factory=dict)
    sandbox_failure: FlexError | None = None  # what trying a sandbox meets

    def images(self) -> frozenset[str]:
        return frozenset(self.stored) if self._require_up() else frozenset()

    def import_image(self, archive: Path) -> None:
        if self._require_up():
            references = self.references.get(archive.name) or read_references(archive)
            with self.steps.step(f"import {', '.join(references)}"):
                self.stored |= set(references)

    def pull_image(self, reference: str) -> None:
        if self._require_up():
            with self.steps.step(f"pull {reference}"):
                self.stored.add(reference)

    def remove_image(self, reference: str) -> None:
        if self._require_up() and reference in self.stored:
            with self.steps.step(f"remove image {reference}"):
                self.stored.discard(reference)

    def stop_all_pods(self) -> Sequence[str]:
        stopped = []
        if self._require_up():
            while self.pods:
                with self.steps.step(f"stop pod {self.pods[0]}"):
                    stopped.append(self.pods.pop(0))
        return stopped

    def try_sandbox(self) -> None:
        if self._require_up() and self.sandbox_failure is not None:
            raise self.sandbox_failure

    def snapshot(self) -> dict[str, Any]:
        return {"images": sorted(self.stored), "pods": sorted(self.pods)}

    def _require_up(self) -> bool:
        """Whether there is a runtime at all, on a machine that runs."""
        if not self.units.running:
            return False
        up = self.units.is_active("containerd.service") if self.up is None else self.up
        if not up:
            raise failure(Code.RUNTIME_DOWN, "the container runtime does not answer")
        return True
