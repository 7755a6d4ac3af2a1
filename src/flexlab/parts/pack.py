"""Turning binaries into the files that are handed out: vendor-like archives and container images."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from flexlab.images import Image, write_image
from flexlab.images.contents import (
    BUSYBOX_PACKAGES,
    KUBE_PROXY_PACKAGES,
    compose_busybox,
    compose_coredns,
    compose_kube_proxy,
    compose_pause,
    parse_busybox_version,
)
from flexlab.images.debian import SUITE, extract_packages
from flexlab.images.tarball import Item, write_tar_gz
from flexlab.model import DOMAIN, REGISTRY_PORT
from flexlab.parts.cache import Entry
from flexlab.parts.recipes import Recipe
from flexnode.host import Command, run
from flexnode.model import Arch

PACKER = 1
"""Raised when what this module writes changes."""

IMAGE_FILE = "image.tar"
REFERENCE_FILE = "reference"
DIGEST_FILE = "digest"
REGISTRY = f"registry.{DOMAIN}:{REGISTRY_PORT}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchivePack:
    """A cache job: a component's binaries in one tar.gz, laid out like its vendor's."""

    recipe: Recipe
    version: str
    arch: Arch
    built: Entry

    @property
    def name(self) -> str:
        return f"{self.recipe.component}-{self.version}-archive"

    @property
    def title(self) -> str:
        return f"pack {self.recipe.component} {self.version}"

    @property
    def file_name(self) -> str:
        return f"{self.recipe.component}-{self.version}-linux-{self.arch}.tar.gz"

    def inputs(self) -> Mapping[str, object]:
        digests = {name: self.built.sha256(name) for name in self.recipe.binaries}
        return {"packer": PACKER, "prefix": self.recipe.prefix, "name": self.file_name, "files": digests}

    def make(self, folder: Path, log: Path) -> None:
        items = [
            Item(name=self.recipe.prefix + name, source=self.built.path(name))
            for name in self.recipe.binaries
        ]
        with (folder / self.file_name).open("wb") as stream:
            write_tar_gz(stream, items)


@dataclass(frozen=True, kw_only=True, slots=True)
class ImagePack:
    """A cache job: an image of `binary`, or of Debian packages alone where there is none.

    What the packages contain on the day is not part of the key: an image stays what it was until the cache
    goes.
    """

    image: str
    arch: Arch
    version: str = ""  # empty: what the packages bring tells
    binary: Path | None = None
    sha256: str = ""
    packages: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()  # further references under which the same image is known

    @property
    def name(self) -> str:
        return f"image-{self.image}-{self.version}" if self.version else f"image-{self.image}"

    @property
    def title(self) -> str:
        return f"make image {self.image} {self.version}".strip()

    def inputs(self) -> Mapping[str, object]:
        inputs = asdict(self)
        inputs.pop("binary")  # where it lies does not matter
        return {**inputs, "packer": PACKER, "suite": SUITE.value if self.packages else ""}

    def make(self, folder: Path, log: Path) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch)
            if self.packages:
                log.write_text(extract_packages(self.packages, root))
            image, version = self._compose(root)
            reference = f"{REGISTRY}/{self.image}:{version}"
            digest = write_image(image, (reference, *self.aliases), folder / IMAGE_FILE)
        (folder / REFERENCE_FILE).write_text(reference)
        (folder / DIGEST_FILE).write_text(digest)

    def _compose(self, root: Path) -> tuple[Image, str]:
        if self.binary is None:
            busybox = root / "bin/busybox"
            banner = run(Command(argv=(str(busybox),))).text
            applets = run(Command(argv=(str(busybox), "--list"))).text.split()
            return compose_busybox(busybox, applets, self.arch), parse_busybox_version(banner)
        if self.packages:
            return compose_kube_proxy(self.binary, root, self.arch), self.version
        compose = {"pause": compose_pause, "coredns": compose_coredns}[self.image]
        return compose(self.binary, self.arch), self.version


def image_of(image: str, version: str, binary: Path, sha256: str, arch: Arch, *aliases: str) -> ImagePack:
    """The job for the image of one program that we built."""
    packages = KUBE_PROXY_PACKAGES if image == "kube-proxy" else ()
    return ImagePack(
        image=image,
        arch=arch,
        version=version,
        binary=binary,
        sha256=sha256,
        packages=packages,
        aliases=aliases,
    )


def busybox_image(arch: Arch) -> ImagePack:
    return ImagePack(image="busybox", arch=arch, packages=BUSYBOX_PACKAGES)
