"""Whether files of the user's would set the kernel otherwise than the node needs it, at the next boot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from flexnode.flows.preflight.check import Finding, ok, skipped, warning
from flexnode.flows.preflight.reading import find_names, find_text
from flexnode.flows.preflight.situation import Situation
from flexnode.host.door import Host

FOLDERS = ("/usr/lib/sysctl.d", "/usr/local/lib/sysctl.d", "/run/sysctl.d", "/etc/sysctl.d")
"""Weakest first: a file hides one of the same name in an earlier folder. All are read in order of names."""


def check_sysctls(situation: Situation) -> Iterator[Finding]:
    if not situation.sysctl_file:
        yield skipped("it is not known what the node needs")
        return
    conflicts: dict[str, list[str]] = {}
    for path in _later_files(situation.host, situation.sysctl_file):
        settings = parse_settings(find_text(situation.host, path) or "")
        for key, wanted in situation.sysctls.items():
            if key in settings and settings[key].split() != wanted.split():
                conflicts.setdefault(path, []).append(f"{key} = {settings[key]} (needed: {wanted})")
    for path, lines in conflicts.items():
        yield warning(
            "preflight/sysctl-overridden",
            f"{path} sets {', '.join(lines)}, and is read last at every boot",
            hint=f"take those lines out of {path}, or ask for these values with host.sysctls",
        )
    if not conflicts:
        yield ok("no file sets otherwise what the node needs")


def parse_settings(text: str) -> Mapping[str, str]:
    """The settings of a sysctl file by dotted key. A pattern never wins over a key that is spelled out."""
    settings = {}
    for line in text.splitlines():
        key, separator, value = line.strip().partition("=")
        key = key.strip().removeprefix("-").strip()
        if separator and key and not key.startswith(("#", ";")) and "*" not in key:
            settings[_dotted(key)] = value.strip()
    return settings


def _dotted(key: str) -> str:
    """A key may be written with slashes, and then has dots where the dotted form has slashes."""
    first = re.search(r"[./]", key)
    return key.translate(str.maketrans("./", "/.")) if first and first[0] == "/" else key


def _later_files(host: Host, ours: str) -> list[str]:
    """The files that are read after `ours`, in their order. /etc/sysctl.conf is read where a link says so."""
    by_name = {
        name: f"{folder}/{name}"
        for folder in FOLDERS
        for name in find_names(host, folder)
        if name.endswith(".conf")
    }
    return [path for name, path in sorted(by_name.items()) if name > ours.rpartition("/")[2]]
