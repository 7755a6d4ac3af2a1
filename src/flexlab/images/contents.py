"""What is in each image: a pure function from the files at hand to an Image."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from flexlab.errors import LabError
from flexlab.images.archive import Image
from flexlab.images.tarball import Item
from flexnode.model import Arch

BUSYBOX_PACKAGES = ("busybox-static",)
KUBE_PROXY_PACKAGES = ("nftables", "conntrack", "kmod")

_KUBE_PROXY_PROGRAMS = frozenset({"nft", "conntrack", "kmod", "modprobe"})
_SHARED_LIBRARY = re.compile(r"(usr/)?lib(64)?/([a-z0-9_]+-linux-gnu/)?[^/]+\.so(\.[0-9.]+)?")


def compose_pause(pause: Path, arch: Arch) -> Image:
    """The sandbox of every pod; runs as nobody, as the one of the Kubernetes project does."""
    item = Item(name="pause", source=pause)
    return Image(items=(item,), arch=arch, entrypoint=("/pause",), user="65535:65535")


def compose_coredns(coredns: Path, arch: Arch) -> Image:
    return Image(items=(Item(name="coredns", source=coredns),), arch=arch, entrypoint=("/coredns",))


def compose_kube_proxy(kube_proxy: Path, root: Path, arch: Arch) -> Image:
    """kube-proxy with the nftables userland out of the unpacked packages in `root`."""
    items = [
        Item(name="usr/local/bin/kube-proxy", source=kube_proxy),
        Item(name="tmp", mode=0o1777),
        *(item for item in _read_tree(root) if _is_wanted(item.name)),
    ]
    return Image(items=tuple(items), arch=arch, entrypoint=("/usr/local/bin/kube-proxy",))


def compose_busybox(busybox: Path, applets: Iterable[str], arch: Arch) -> Image:
    """A small userland: one program under the names of all its applets."""
    links = (Item(name=f"bin/{applet}", link="busybox") for applet in applets if applet != "busybox")
    return Image(
        items=(
            Item(name="bin/busybox", source=busybox),
            *links,
            Item(
                name="etc/passwd", mode=0o644, data=b"root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534::/:\n"
            ),
            Item(name="etc/group", mode=0o644, data=b"root:x:0:\nnogroup:x:65534:\n"),
            Item(name="tmp", mode=0o1777),
            Item(name="var/www"),
        ),
        arch=arch,
        command=("sh",),
    )


def parse_busybox_version(banner: str) -> str:
    """The version in the first line that busybox prints."""
    match = re.match(r"BusyBox v(\d+(?:\.\d+)+)", banner)
    if match is None:
        raise LabError(
            f"busybox does not say its version: {banner.partition(chr(10))[0]!r}",
            code="images/bad-package",
            hint="check the package busybox-static of the archive that apt uses",
        )
    return match[1]


def _is_wanted(name: str) -> bool:
    folder, _, base = name.rpartition("/")
    program = folder in {"bin", "sbin", "usr/bin", "usr/sbin"} and base in _KUBE_PROXY_PROGRAMS
    return program or _SHARED_LIBRARY.fullmatch(name) is not None


def _read_tree(root: Path) -> Iterator[Item]:
    """The files and links below `root`; a folder that is itself a link (as /lib may be) is one entry."""
    for folder, folders, files in os.walk(root):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in (*files, *links):
            path = Path(folder) / name
            inside = str(path.relative_to(root))
            if path.is_symlink():
                yield Item(name=inside, link=os.readlink(path))
            elif path.is_file():
                yield Item(name=inside, source=path, mode=path.stat().st_mode & 0o777)
