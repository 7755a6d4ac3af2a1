"""Whether the product may write where a node's files lie, told from the mounts: nothing is tried."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from flexnode.flows.preflight.check import Finding, error, ok, warning
from flexnode.flows.preflight.reading import find_text
from flexnode.flows.preflight.situation import Situation

WRITTEN = ("/etc", "/usr/local/bin", "/opt/cni/bin", "/var/lib", "/var/log", "/run")
STARTED_FROM = ("/usr/local/bin", "/opt/cni/bin")


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    """A mount point, and the options of the mount and of the file system behind it."""

    path: str
    options: frozenset[str]


def check_writable(situation: Situation) -> Iterator[Finding]:
    text = find_text(situation.host, "/proc/self/mountinfo")
    if text is None:
        yield warning(
            "preflight/mounts-unknown",
            "/proc/self/mountinfo is missing, so nobody knows what is mounted how",
            hint="mount /proc",
        )
        return
    mounts = parse_mounts(text)
    read_only = {path: mount for path in WRITTEN if "ro" in (mount := mount_of(path, mounts)).options}
    for mount in {mount.path: mount for mount in read_only.values()}.values():
        paths = ", ".join(path for path, its in read_only.items() if its.path == mount.path)
        yield error(
            "host/read-only",
            f"{mount.path} is mounted read-only, and the node needs to write {paths}",
            hint=f"mount -o remount,rw {mount.path}; a disk with errors turns read-only by itself: see dmesg",
        )
    forbidden = [path for path in STARTED_FROM if "noexec" in mount_of(path, mounts).options]
    if forbidden:
        yield error(
            "preflight/noexec",
            f"programs in {', '.join(forbidden)} may not be started: it is mounted noexec",
            hint="remove noexec from its line in /etc/fstab, and remount it",
        )
    if not read_only and not forbidden:
        yield ok(f"{', '.join(WRITTEN)}")


def parse_mounts(text: str) -> list[Mount]:
    """The lines of /proc/self/mountinfo; a later one hides an earlier one at the same path."""
    mounts = []
    for line in text.splitlines():
        head, separator, tail = line.partition(" - ")
        fields, behind = head.split(), tail.split()
        if separator and len(fields) >= 6 and len(behind) >= 3:
            options = frozenset(fields[5].split(",")) | frozenset(behind[2].split(","))
            mounts.append(Mount(path=_unescape(fields[4]), options=options))
    return mounts


def mount_of(path: str, mounts: list[Mount]) -> Mount:
    """The mount that `path` lies on."""
    found = Mount(path="/", options=frozenset())
    for mount in mounts:
        above = mount.path.rstrip("/") + "/"
        if (path == mount.path or path.startswith(above)) and len(mount.path) >= len(found.path):
            found = mount
    return found


def _unescape(path: str) -> str:
    """The kernel writes white space and backslashes as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)
