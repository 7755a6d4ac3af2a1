"""The states that a managed thing can be in: plain data, so that another process can finish or undo a change.

The same vocabulary says what is wanted, what was observed, and what the user's machine had before.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class _Data(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", omit_defaults=True):
    """A value with its kind written beside it."""


class Text(_Data, frozen=True, kw_only=True, tag="text"):
    """Content that stands in the generation itself."""

    text: str


class Blob(_Data, frozen=True, kw_only=True, tag="blob"):
    """Content by digest: staged from an artifact, or kept from the user's machine."""

    sha256: str


class Member(_Data, frozen=True, kw_only=True, tag="member"):
    """One file of an archive in the artifact store; the file itself when `path` is empty."""

    artifact: str  # the archive's digest
    path: str = ""
    sha256: str | None = None  # the member's own digest, where the catalog knows it


class Secret(_Data, frozen=True, kw_only=True, tag="secret"):
    """Text with credentials in it, by reference: each `{{name}}` is resolved at the moment of writing."""

    template: str
    names: tuple[str, ...]


Content: TypeAlias = Text | Blob | Member | Secret


class Absent(_Data, frozen=True, kw_only=True, tag="absent"):
    """Nothing is there."""


class File(_Data, frozen=True, kw_only=True, tag="file"):
    """A regular file. The last two are only observed and restored, never wanted."""

    content: Content
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    xattrs: dict[str, bytes] = {}
    mtime_ns: int | None = None


class Link(_Data, frozen=True, kw_only=True, tag="link"):
    """A symbolic link."""

    target: str


class Directory(_Data, frozen=True, kw_only=True, tag="directory"):
    """A directory; what is in it belongs to other resources, or to nobody."""

    mode: int = 0o755
    uid: int = 0
    gid: int = 0


class Sysctl(_Data, frozen=True, kw_only=True, tag="sysctl"):
    """A running kernel parameter. `along`: what the kernel sets whenever this one changes; only observed and
    restored, never wanted.
    """

    value: str
    along: dict[str, str] = {}


class Module(_Data, frozen=True, kw_only=True, tag="module"):
    """A kernel module that is loaded, or built in."""


class Packages(_Data, frozen=True, kw_only=True, tag="packages"):
    """Debian packages. Observed and kept: `absent` are those that a change will newly install."""

    installed: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    debs: tuple[str, ...] = ()  # digests of package files to install from, where no archive is reached


class Unit(_Data, frozen=True, kw_only=True, tag="unit"):
    """A systemd unit. None: whatever it is."""

    enabled: bool | None = None
    active: bool | None = None
    masked: bool = False


class Swap(_Data, frozen=True, kw_only=True, tag="swap"):
    """Swap in use, by device or file; wanted: none."""

    devices: tuple[str, ...] = ()


class User(_Data, frozen=True, kw_only=True, tag="user"):
    """A system user with a group of its own."""

    home: str = "/nonexistent"
    shell: str = "/usr/sbin/nologin"


class Group(_Data, frozen=True, kw_only=True, tag="group"):
    """A system group."""


class Image(_Data, frozen=True, kw_only=True, tag="image"):
    """A container image in the runtime, by reference: imported from an archive in the store, or pulled."""

    archive: str = ""  # digest
    pull: bool = False  # nobody staged it: the runtime fetches it from its registry


class Kubeconfig(_Data, frozen=True, kw_only=True, tag="kubeconfig"):
    """Where a kubeconfig of others leads to. Its time is only observed and restored, never wanted."""

    server: str
    mtime_ns: int | None = None


class Owned(_Data, frozen=True, kw_only=True, tag="owned"):
    """What others write (kubelet, containerd, CNI): never compared, but it has a way to leave.

    In this order: pods are stopped through the runtime, the Node object is deleted, slices are stopped, what
    is mounted below the trees is unmounted and the trees are removed, then interfaces, chains and tables by
    their names.

    To leave is to be put to the same value with `left` set: the key alone does not say what to remove. Found
    are those parts that are still there; Absent once none is.
    """

    pods: bool = False
    node: str = ""  # the Node object of that name
    slices: tuple[str, ...] = ()  # units that a program made while it ran, each with all below it
    trees: tuple[str, ...] = ()  # directories, or single files
    links: tuple[str, ...] = ()  # interface names; a trailing * stands for any end
    chains: tuple[str, ...] = ()  # prefixes of packet filter chains
    tables: tuple[str, ...] = ()  # nftables tables
    left: bool = False  # nothing of it shall be there any more


State: TypeAlias = (
    Absent
    | File
    | Link
    | Directory
    | Sysctl
    | Module
    | Packages
    | Unit
    | Swap
    | User
    | Group
    | Image
    | Kubeconfig
    | Owned
)
