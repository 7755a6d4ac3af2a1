"""Everything that one version of Kubernetes needs, made where it is missing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flexlab.errors import LabError
from flexlab.images import ImageArchive
from flexlab.parts.cache import Entry, ensure, render_key
from flexlab.parts.pack import (
    DIGEST_FILE,
    IMAGE_FILE,
    REFERENCE_FILE,
    ArchivePack,
    ImagePack,
    busybox_image,
    image_of,
)
from flexlab.parts.recipes import RECIPES, Layout
from flexlab.parts.source import GoBuild, PauseBuild, find_go, list_versions, require_source
from flexlab.parts.toolchain import machine_arch
from flexlab.paths import cache_dir, repository
from flexnode.catalog import ReleaseSet, load_catalog, render_overlay
from flexnode.model import Arch, Artifact, Flavour, Format, Member
from flexnode.progress import Progress

COMPONENTS = ("kubernetes", "containerd", "runc", "cni-plugins", "etcd", "distribution")
"""What every lab needs; further ones are built when asked for."""

KUBERNETES = "kubernetes"
_OWN_NAMES = {"registry": "distribution"}  # binary -> its component's name in the catalog, where they differ


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """Where the finished parts lie.

    `store` is content-addressed (`<store>/sha256/<hex>`): what the artifact server serves. `overlay` is the
    catalog file that lists what the store holds of this version.
    """

    kubernetes: str
    store: Path
    overlay: Path
    images: tuple[ImageArchive, ...]
    binaries: Mapping[str, Path]

    def binary(self, name: str) -> Path:
        try:
            return self.binaries[name]
        except KeyError:
            known = ", ".join(sorted(self.binaries))
            raise LabError(
                f"there is no part {name}", code="parts/unknown-binary", hint=f"there are: {known}"
            ) from None

    def image(self, name: str) -> ImageArchive:
        for image in self.images:
            if image.name == name:
                return image
        known = ", ".join(image.name for image in self.images)
        raise LabError(f"there is no image {name}", code="parts/unknown-image", hint=f"there are: {known}")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Maker:
    """One run of `ensure_parts`: the versions that go together, and where results are kept."""

    release_set: ReleaseSet
    arch: Arch
    sources: Path
    root: Path
    progress: Progress

    def version(self, component: str) -> str:
        return (
            self.release_set.kubernetes if component == KUBERNETES else self.release_set.components[component]
        )

    def folder(self, component: str) -> Path:
        return require_source(component, self.version(component), self.sources)


def parts_dir() -> Path:
    """The cache of everything this package makes."""
    return cache_dir() / "parts"


def available_kubernetes() -> tuple[str, ...]:
    """The versions of Kubernetes that can be built here, oldest first."""
    return list_versions(KUBERNETES, repository() / "sources")


def ensure_parts(kubernetes: str, *, progress: Progress, extra: tuple[str, ...] = ()) -> Parts:
    """The parts for `kubernetes` (`1.X` stands for its newest that is pinned), with `extra` components.

    Makes what is missing, and only that. Safe to kill at any moment and to run twice at once.
    """
    maker = _Maker(
        release_set=load_catalog().release_set(_resolve(kubernetes)),
        arch=machine_arch(),
        sources=repository() / "sources",
        root=parts_dir(),
        progress=progress,
    )
    components = (*COMPONENTS, *extra)
    folders = [maker.folder(component) for component in components]
    go = find_go(*folders)
    built: dict[str, Entry] = {}
    for component, folder in zip(components, folders, strict=True):
        job = GoBuild(
            recipe=RECIPES[component],
            version=maker.version(component),
            arch=maker.arch,
            folder=folder,
            go=go,
        )
        built[component] = ensure(job, maker.root, progress)
    pause = PauseBuild(
        version=maker.version("pause"), arch=maker.arch, folder=maker.folder(KUBERNETES), go=go
    )
    built["pause"] = ensure(pause, maker.root, progress)
    images = _ensure_images(maker, built)
    store = maker.root / "store"
    artifacts = _publish(maker, built, images, store)
    return Parts(
        kubernetes=maker.release_set.kubernetes,
        store=store,
        overlay=_write_overlay(maker, artifacts),
        images=tuple(_describe(image, entry) for image, entry in images.items()),
        binaries={
            name: entry.path(name)
            for component, entry in built.items()
            for name in (RECIPES[component].binaries if component in RECIPES else (component,))
        },
    )


def _resolve(kubernetes: str) -> str:
    known = available_kubernetes()
    matching = [version for version in known if version == kubernetes or version.startswith(f"{kubernetes}.")]
    if not matching:
        raise LabError(
            f"Kubernetes {kubernetes} is not pinned in sources/ (there is: {', '.join(known) or 'none'})",
            code="parts/unknown-version",
            hint=f"choose one of these, or pin it: scripts/pin_source.py kubernetes {kubernetes}",
        )
    return matching[-1]


def _ensure_images(maker: _Maker, built: Mapping[str, Entry]) -> dict[str, Entry]:
    """The images, by name."""
    vendor_name = load_catalog().image("pause", maker.version("pause"))
    programs = {"pause": ("pause", (vendor_name,)), "kube-proxy": (KUBERNETES, ())}
    if "coredns" in built:
        programs["coredns"] = ("coredns", ())
    jobs: list[ImagePack] = [
        image_of(
            image,
            maker.version(component),
            built[component].path(image),
            built[component].sha256(image),
            maker.arch,
            *aliases,
        )
        for image, (component, aliases) in programs.items()
    ]
    jobs.append(busybox_image(maker.arch))
    return {job.image: ensure(job, maker.root, maker.progress) for job in jobs}


def _describe(image: str, entry: Entry) -> ImageArchive:
    return ImageArchive(
        name=image,
        reference=entry.path(REFERENCE_FILE).read_text(),
        path=entry.path(IMAGE_FILE),
        digest=entry.path(DIGEST_FILE).read_text(),
    )


def _publish(
    maker: _Maker, built: Mapping[str, Entry], images: Mapping[str, Entry], store: Path
) -> list[Artifact]:
    """Lay everything that can be downloaded into the store, and list it."""
    artifacts = []
    for component, entry in built.items():
        version = maker.version(component)
        if component not in RECIPES:
            continue  # pause is handed out as an image
        recipe = RECIPES[component]
        if recipe.layout is Layout.ARCHIVE:
            pack = ArchivePack(recipe=recipe, version=version, arch=maker.arch, built=entry)
            packed = ensure(pack, maker.root, maker.progress)
            members = [
                Member(path=(recipe.prefix + name).removeprefix("./"), sha256=entry.sha256(name))
                for name in recipe.binaries
            ]
            artifacts.append(
                _put(store, packed, pack.file_name, component, version, maker.arch, Format.TAR_GZ, members)
            )
            continue
        artifacts += [
            _put(store, entry, name, _OWN_NAMES.get(name, name), version, maker.arch, Format.FILE)
            for name in recipe.binaries
        ]
    version = maker.version("pause")
    artifacts.append(
        _put(store, images["pause"], IMAGE_FILE, "pause", version, maker.arch, Format.OCI_ARCHIVE)
    )
    return artifacts


def _put(
    store: Path,
    entry: Entry,
    name: str,
    component: str,
    version: str,
    arch: Arch,
    form: Format,
    members: list[Member] | None = None,
) -> Artifact:
    """Link one file of a result into the store, unless it is there."""
    record = entry.files[name]
    place = store / "sha256" / record.sha256
    source = entry.path(name)
    if not (place.exists() and place.samefile(source)):
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = place.with_name(f".{place.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        os.link(source, draft)
        draft.replace(place)
    return Artifact(
        component=component,
        version=version,
        arch=arch,
        flavour=Flavour.SOURCE,
        format=form,
        sha256=record.sha256,
        size=record.size,
        members=tuple(members or ()),
    )


def _write_overlay(maker: _Maker, artifacts: list[Artifact]) -> Path:
    """The overlay catalog; its name changes with its content, so that a reader never sees it change."""
    data = render_overlay(artifacts)
    path = (
        maker.root
        / "overlays"
        / f"kubernetes-{maker.release_set.kubernetes}-{render_key(data.decode())}.json"
    )
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.write_bytes(data)
        draft.replace(path)
    return path
