"""What a downloadable part of a node is: one file, known by its digest."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Arch(StrEnum):
    """Processor architectures, by the names that release files use."""

    AMD64 = "amd64"
    ARM64 = "arm64"


MACHINES = {"x86_64": Arch.AMD64, "aarch64": Arch.ARM64}
"""What the kernel calls them."""


class Format(StrEnum):
    """How the file is packed."""

    FILE = "file"
    TAR_GZ = "tar.gz"
    OCI_ARCHIVE = "oci-archive"  # a tar of an OCI image layout, as `ctr images import` takes it


class Flavour(StrEnum):
    """Who made the file: its vendor, or a build of one's own, which never equals the published one."""

    RELEASE = "release"
    SOURCE = "source"


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """A file inside an archive that gets installed.

    `sha256` is None where nobody has recorded it; the archive's own digest covers it then.
    """

    path: str
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Artifact:
    """A file of one component, version and architecture. `sha256`: 64 lower-case hex digits, never absent."""

    component: str
    version: str
    arch: Arch
    flavour: Flavour
    format: Format
    sha256: str
    urls: tuple[str, ...] = ()  # where its vendor publishes it, in order of preference; may be empty
    members: tuple[Member, ...] = ()
    size: int | None = None

    def __str__(self) -> str:
        return f"{self.component} {self.version} ({self.arch})"
