"""Looking things up: a component of a version and an architecture is exactly one file with one digest."""

from __future__ import annotations

import hashlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flexnode.catalog.document import Component, Document, fill, parse_document
from flexnode.catalog.layout import version_key
from flexnode.catalog.overlay import parse_overlay, read_overlay
from flexnode.errors import CatalogError
from flexnode.model.artifact import Arch, Artifact, Flavour, Member

FILE = "catalog.json"

Key = tuple[str, str, Arch, Flavour]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseSet:
    """One version of Kubernetes and the versions of everything that goes with it."""

    kubernetes: str
    components: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalog:
    """The shipped catalog with overlays laid over it. `version` names its content."""

    version: str
    document: Document
    overlay: Mapping[Key, Artifact]

    def require(self, component: str, version: str, arch: Arch, flavour: Flavour | None = None) -> Artifact:
        """The file of `component`. With the flavour left open, a build in an overlay comes first."""
        for each in (flavour,) if flavour else (Flavour.SOURCE, Flavour.RELEASE):
            artifact = self.overlay.get((component, version, arch, each))
            if artifact is None and each is Flavour.RELEASE:
                artifact = self._find_release(component, version, arch)
            if artifact is not None:
                return artifact
        raise self._explain(component, version, arch, flavour)

    def release_set(self, kubernetes: str | None = None) -> ReleaseSet:
        """The versions that go with `kubernetes`: a minor version, a full one, or None for the default."""
        wanted = kubernetes or self.document.default_kubernetes
        minor = ".".join(wanted.split(".")[:2])
        entry = self.document.release_sets.get(minor)
        if entry is None:
            known = ", ".join(sorted(self.document.release_sets, key=version_key))
            raise CatalogError(
                f"there is no release set for Kubernetes {wanted}",
                code="catalog/unknown-kubernetes",
                hint=f"known minor versions: {known}; write them without a leading v",
            )
        exact = entry.kubernetes if wanted == minor else wanted
        known_versions = self.versions("kubelet")
        if exact not in known_versions:
            same_minor = [each for each in known_versions if each.startswith(f"{minor}.")]
            raise CatalogError(
                f"the catalog does not know Kubernetes {exact}",
                code="catalog/unknown-kubernetes",
                hint=f"known versions of {minor}: {', '.join(same_minor)}",
            )
        components = {
            name: exact if component.follows_kubernetes else entry.components[name]
            for name, component in sorted(self.document.components.items())
        }
        return ReleaseSet(kubernetes=exact, components=components)

    def artifacts(
        self, release_set: ReleaseSet, arch: Arch, *, lab: bool = False, optional: bool = False
    ) -> tuple[Artifact, ...]:
        """The files of a node; with `lab`, of a control plane too; with `optional`, what is nice to have.

        Optional parts that the vendor does not publish and nobody has built are left out; any other missing
        part is an error.
        """
        found = []
        for name, version in release_set.components.items():
            component = self.document.components[name]
            if (component.lab and not lab) or (component.optional and not optional):
                continue
            try:
                found.append(self.require(name, version, arch))
            except CatalogError:
                if not component.optional:
                    raise
        return tuple(found)

    def packages(self, suite: str) -> tuple[str, ...]:
        """The Debian packages that a node needs beyond a minimal system of `suite`."""
        try:
            return tuple(self.document.packages[suite])
        except KeyError:
            raise CatalogError(
                f"the catalog has no package list for {suite!r}",
                code="catalog/unknown-suite",
                hint=f"known suites: {', '.join(sorted(self.document.packages))}",
            ) from None

    def versions(self, component: str) -> tuple[str, ...]:
        """Every version of `component` that is published, buildable, or in an overlay; oldest first."""
        shipped = self.document.components.get(component)
        known = {key[1] for key in self.overlay if key[0] == component}
        known |= shipped.versions.keys() if shipped else set()
        return tuple(sorted(known, key=version_key))

    def find_source(self, component: str, version: str) -> str | None:
        """The Go module and its version, as `module@version`, that `component` can be built from."""
        shipped = self.document.components.get(component)
        entry = shipped.versions.get(version) if shipped else None
        if shipped is None or entry is None or entry.source is None:
            return None
        return f"{shipped.module}@{entry.source}"

    def image(self, component: str, version: str) -> str:
        """The reference of the container image that the vendor of `component` publishes."""
        shipped = self.document.components.get(component)
        if shipped is None or shipped.image is None:
            published = sorted(name for name, each in self.document.components.items() if each.image)
            raise CatalogError(
                f"the catalog knows no container image of {component}",
                code="catalog/unknown-image",
                hint=f"images are known of: {', '.join(published)}",
            )
        return shipped.image.replace("{version}", version)

    def _find_release(self, name: str, version: str, arch: Arch) -> Artifact | None:
        component = self.document.components.get(name)
        entry = component.versions.get(version) if component else None
        return None if component is None or entry is None else _release(name, component, version, arch)

    def _explain(self, name: str, version: str, arch: Arch, flavour: Flavour | None) -> CatalogError:
        """Why there is no such artifact: the component, its version, its architecture, or only its digest."""
        components = sorted(self.document.components.keys() | {key[0] for key in self.overlay})
        if name not in components:
            return CatalogError(
                f"the catalog does not know a component {name!r}",
                code="catalog/unknown-component",
                hint=_suggest(name, components),
            )
        versions = self.versions(name)
        if version not in versions:
            return CatalogError(
                f"the catalog does not know {name} {version}",
                code="catalog/unknown-version",
                hint=_suggest(version, versions),
            )
        what = f"{name} {version} ({arch})"
        if source := self.find_source(name, version):
            return CatalogError(
                f"no digest of {what} is known: it can be built from {source}, and no overlay lists a build",
                code="catalog/not-built",
                hint="build it first, and pass the overlay catalog that the build writes",
            )
        return CatalogError(
            f"the catalog has no {flavour or 'file'} of {what}",
            code="catalog/unknown-flavour" if flavour else "catalog/unknown-arch",
            hint="choose another version or architecture, or pass an overlay catalog that lists it",
        )


def load_catalog(overlays: Sequence[Path] = ()) -> Catalog:
    """The shipped catalog with `overlays` laid over it, the last one on top."""
    shipped = read_shipped()
    read = [(str(path), read_overlay(path)) for path in overlays]
    content = hashlib.sha256(shipped)
    for _, data in read:
        content.update(hashlib.sha256(data).digest())
    document = parse_document(shipped, "the shipped catalog")
    return lay_over(document, read, version=content.hexdigest()[:12])


def lay_over(document: Document, overlays: Sequence[tuple[str, bytes]], *, version: str) -> Catalog:
    """`document` with overlays, each a name for errors and its content, laid over it."""
    merged: dict[Key, Artifact] = {}
    for origin, data in overlays:
        for artifact in parse_overlay(data, origin):
            _refuse_contradiction(document, artifact, origin)
            merged[(artifact.component, artifact.version, artifact.arch, artifact.flavour)] = artifact
    return Catalog(version=version, document=document, overlay=merged)


def read_shipped() -> bytes:
    data = pkgutil.get_data("flexnode.catalog", FILE)
    if data is None:
        raise CatalogError(
            "the shipped catalog is missing", code="catalog/unreadable", hint="reinstall the product"
        )
    return data


def _refuse_contradiction(document: Document, artifact: Artifact, origin: str) -> None:
    """A published file never changes: an overlay that says otherwise is wrong, or an attack."""
    if artifact.flavour is not Flavour.RELEASE:
        return
    component = document.components.get(artifact.component)
    if component is None or artifact.version not in component.versions:
        return
    shipped = _release(artifact.component, component, artifact.version, artifact.arch)
    if shipped is not None and shipped.sha256 != artifact.sha256:
        raise CatalogError(
            f"{origin} gives the published {artifact} the digest {artifact.sha256}; its vendor published "
            f"{shipped.sha256}",
            code="catalog/contradiction",
            hint="list it with flavour source if it is a build of your own, or remove it",
        )


def _release(name: str, component: Component, version: str, arch: Arch) -> Artifact | None:
    file = component.versions[version].release.get(arch)
    if file is None or file.sha256 is None:
        return None
    paths = [fill(member, version, arch) for member in component.members]
    return Artifact(
        component=name,
        version=version,
        arch=arch,
        flavour=Flavour.RELEASE,
        format=component.format,
        sha256=file.sha256,
        size=file.size,
        urls=tuple(fill(url, version, arch) for url in component.urls),
        members=tuple(Member(path=path, sha256=file.members.get(path)) for path in paths),
    )


def _suggest(wanted: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches  # only failures need it: every start would pay for the import

    close = get_close_matches(wanted.removeprefix("v"), known, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    return f"{guess}known: {', '.join(known) or 'none'}"
