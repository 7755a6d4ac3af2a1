"""What components are composed from. Baked ones see only `MachineInputs`: no cluster, no credential."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flexnode.errors import CatalogError
from flexnode.model.artifact import Artifact
from flexnode.model.facts import Facts
from flexnode.model.machine import MachineSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """The files of this node, looked up in the catalog: by component, each one version with one digest."""

    kubernetes: str
    artifacts: Mapping[str, Artifact]  # kubelet, kubectl, containerd, runc, cni-plugins, pause …
    packages: tuple[str, ...]  # Debian packages that a node needs beyond a minimal system
    pause_image: str  # the reference that kubelet and containerd know the sandbox image by
    debs: tuple[Artifact, ...] = ()  # package files to install from; none: from the machine's own archives

    def find_debs(self, names: Iterable[str]) -> tuple[str, ...]:
        """The digests of all package files, if any of these packages is among them; else none.

        Which of them it takes is the package manager's to say: it knows what the machine has.
        """
        if not {each.component for each in self.debs}.intersection(names):
            return ()
        return tuple(sorted(each.sha256 for each in self.debs))

    def require(self, component: str) -> Artifact:
        """The file of a component that no node works without."""
        try:
            return self.artifacts[component]
        except KeyError:
            raise CatalogError(
                f"the parts of this node lack {component}",
                code="catalog/part-missing",
                hint=f"choose versions for which the catalog, or an overlay, has a file of {component}",
            ) from None


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineInputs:
    """Everything the baked part of a node depends on."""

    machine: MachineSpec
    parts: Parts
    facts: Facts
