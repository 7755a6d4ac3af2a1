"""What is mounted where, as the kernel tells it."""

from __future__ import annotations

import re
from pathlib import Path

from flexnode.host.failures import translate_os_error

_ESCAPE = re.compile(r"\\([0-7]{3})")


def load_mounts(table: Path = Path("/proc/self/mountinfo")) -> tuple[str, ...]:
    """The mount points of this process, in the order in which they were mounted; stacked ones repeat."""
    try:
        text = table.read_bytes().decode(errors="surrogateescape")
    except FileNotFoundError:
        return ()  # no /proc: a bare chroot, in which nothing can have been mounted by us
    except OSError as error:
        raise translate_os_error(error, f"read {table}") from error
    return parse_mountinfo(text)


def parse_mountinfo(text: str) -> tuple[str, ...]:
    """The fifth field of each line, its escapes resolved."""
    points = [fields[4] for line in text.splitlines() if len(fields := line.split(" ")) > 4]
    return tuple(unescape(point.removesuffix("//deleted")) for point in points)


def unescape(text: str) -> str:
    r"""What the kernel writes as \040 is a space."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


def mount_number(folder: int) -> str:
    """Which mount an open directory lies in; unlike the device, it tells a bind mount from its source."""
    try:
        lines = Path(f"/proc/self/fdinfo/{folder}").read_text().splitlines()
    except FileNotFoundError:
        return ""
    return next((line for line in lines if line.startswith("mnt_id:")), "")


def sort_deepest(paths: list[str]) -> list[str]:
    """Deepest first; of several on one point the topmost first, since `paths` come oldest first."""
    return sorted(reversed(paths), key=lambda path: (-path.count("/"), path))


def is_below(path: str, folder: str) -> bool:
    """At or below."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
