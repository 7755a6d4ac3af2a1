"""A container runtime that only pretends to be changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from flexnode.errors import HostError
from flexnode.host.door import Host, Units
from flexnode.host.failures import Code
from flexnode.host.image_archive import read_references

_UNIT = "containerd.service"


@dataclass
class OverlayRuntime:
    """One whose start was only pretended holds what it was pretended to be given."""

    below: Host
    units: Units
    _images: dict[str, bool] = field(default_factory=dict)

    def images(self) -> frozenset[str]:
        found = dict.fromkeys(self._images_below(), True) | self._images
        return frozenset(name for name, there in found.items() if there)

    def import_image(self, archive: Path) -> None:
        self._images_below()
        self._images |= dict.fromkeys(read_references(archive), True)

    def pull_image(self, reference: str) -> None:
        self._images_below()
        self._images[reference] = True

    def remove_image(self, reference: str) -> None:
        self._images_below()
        self._images[reference] = False

    def stop_all_pods(self) -> Sequence[str]:
        """Which they would be cannot be known without stopping them."""
        self._images_below()
        return ()

    def try_sandbox(self) -> None:
        """A sandbox would be a change."""
        self._images_below()

    def _images_below(self) -> frozenset[str]:
        """Raises where the runtime is down, and nobody pretended to start it."""
        try:
            return self.below.runtime.images()
        except HostError as error:
            if error.code == Code.RUNTIME_DOWN and self.units.find(_UNIT).active:
                return frozenset()
            raise
