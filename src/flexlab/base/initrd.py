"""The smallest first stage: load the disk's driver, mount the root, hand over.

Debian's own initrd would do, and costs an emulated machine two to five seconds of each boot: it unpacks ten
megabytes and runs a device manager to find the one disk there is.
"""

from __future__ import annotations

import lzma
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from flexlab.errors import LabError

DRIVERS = ("virtio_pci", "virtio_blk")
"""What a kernel needs to reach its disk; whatever of it is built in, is left out."""

PROBE = "probe"
"""A word on the kernel's command line: say `PROBE_ANSWER` and end, instead of booting a system."""

PROBE_ANSWER = "flexlab: this machine runs a kernel and its programs"

_INIT = """\
#!/bin/busybox sh
[ "$1" = {probe} ] && {{ echo "{answer}"; busybox reboot -f; }}
fail() {{ echo "initrd: $1"; busybox poweroff -f; }}
{load}
busybox mount -t devtmpfs devtmpfs /dev || fail "no devtmpfs"
busybox mount -t ext4 -o rw,discard /dev/vda /root || fail "the disk has no root file system"
busybox mount --move /dev /root/dev
exec busybox switch_root /root /sbin/init
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A member of the archive; a folder when `data` is None."""

    path: str
    mode: int
    data: bytes | None = None


def build_initrd(root: Path) -> bytes:
    """The initrd for the one kernel that is installed in `root`, which also has a static busybox."""
    modules = [
        (PurePosixPath(path).name.split(".ko")[0], _read_module(path))
        for path in _ordered_modules(_only_kernel(root))
    ]
    load = "\n".join(
        f'busybox insmod /modules/{name}.ko || fail "{name} does not load"' for name, _ in modules
    )
    entries = [
        *(Entry(path=name, mode=0o755) for name in ("bin", "dev", "root", "modules")),
        Entry(path="bin/busybox", mode=0o755, data=(root / "usr/bin/busybox").read_bytes()),
        *(Entry(path=f"modules/{name}.ko", mode=0o644, data=data) for name, data in modules),
        Entry(
            path="init", mode=0o755, data=_INIT.format(load=load, probe=PROBE, answer=PROBE_ANSWER).encode()
        ),
    ]
    return render_cpio(entries)


def render_cpio(entries: Iterable[Entry]) -> bytes:
    """A `newc` archive, which is what a kernel unpacks; all of it root's, without times."""
    archive = bytearray()
    for number, entry in enumerate(entries, start=1):
        kind = stat.S_IFDIR if entry.data is None else stat.S_IFREG
        archive += _member(number, entry.path, kind | entry.mode, entry.data or b"")
    archive += _member(0, "TRAILER!!!", 0, b"")
    return bytes(archive)


def order_modules(dependencies: Mapping[str, list[str]], wanted: Iterable[str]) -> list[str]:
    """The files to load, each after what it needs. `dependencies` is a parsed `modules.dep`."""
    by_name = {PurePosixPath(path).name.split(".ko")[0].replace("-", "_"): path for path in dependencies}
    ordered: list[str] = []
    for name in wanted:
        path = by_name.get(name)
        if path is None:  # built into the kernel
            continue
        # modules.dep lists the nearest dependency first
        ordered += [needed for needed in [*reversed(dependencies[path]), path] if needed not in ordered]
    return ordered


def parse_modules_dep(text: str) -> dict[str, list[str]]:
    """Each module's file and the files it needs."""
    lines = (line.partition(":") for line in text.splitlines() if line)
    return {path: needed.split() for path, _, needed in lines}


def _ordered_modules(kernel: Path) -> list[Path]:
    dependencies = parse_modules_dep((kernel / "modules.dep").read_text())
    return [kernel / path for path in order_modules(dependencies, DRIVERS)]


def _only_kernel(root: Path) -> Path:
    kernels = sorted((root / "usr/lib/modules").iterdir())
    if len(kernels) != 1:
        names = ", ".join(kernel.name for kernel in kernels) or "none"
        raise LabError(
            f"the base image should hold one kernel and holds: {names}",
            code="lab/base-kernel",
            hint="see which of its packages bring a kernel: src/flexlab/base/contents.py",
        )
    return kernels[0]


def _read_module(path: Path) -> bytes:
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


def _member(number: int, path: str, mode: int, data: bytes) -> bytes:
    name = path.encode() + b"\0"
    # magic, inode, mode, uid, gid, links, time, size, device (4), length of the name, checksum
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
    header = b"070701" + b"".join(b"%08x" % value for value in fields)
    return _padded(header + name) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
