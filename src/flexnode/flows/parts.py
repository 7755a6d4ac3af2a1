"""Which files a node is made of: the release set of its Kubernetes version, with the user's own choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from flexnode.catalog import Catalog, load_catalog
from flexnode.components.inputs import Parts
from flexnode.model.facts import Facts
from flexnode.model.machine import Versions
from flexnode.model.spec import NodeSpec

PAUSE = "pause"


def load_spec_catalog(spec: NodeSpec) -> Catalog:
    """The shipped catalog, with the overlays that the configuration names."""
    return load_catalog([Path(overlay) for overlay in spec.artifacts.overlays])


def choose_parts(catalog: Catalog, spec: NodeSpec, facts: Facts, *, optional: bool = False) -> Parts:
    """The parts of this node; a version or a system that the catalog does not know is a CatalogError.

    `optional`: also what a node works without, where the catalog has a file of it.
    """
    versions = spec.machine.versions
    chosen = catalog.release_set(versions.kubernetes)
    chosen = replace(chosen, components={**chosen.components, **_overrides(versions)})
    needed = {artifact.sha256 for artifact in catalog.artifacts(chosen, facts.arch)}
    return Parts(
        kubernetes=chosen.kubernetes,
        artifacts={
            artifact.component: artifact
            for artifact in catalog.artifacts(chosen, facts.arch, optional=True)
            # Without a file of the sandbox image a registry has it; with one, no registry is needed.
            if optional or artifact.sha256 in needed or artifact.component == PAUSE
        },
        packages=catalog.packages(facts.codename),
        pause_image=catalog.image(PAUSE, chosen.components[PAUSE]),
    )


def _overrides(versions: Versions) -> Mapping[str, str]:
    named = {"containerd": versions.containerd, "runc": versions.runc, "cni-plugins": versions.cni_plugins}
    return {component: version for component, version in named.items() if version is not None}
