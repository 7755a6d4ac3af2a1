"""Read off a machine what its composition depends on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from flexnode.host.door import Enablement, Files, Host, UnitInfo
from flexnode.host.failures import Code, failure
from flexnode.host.reading import find_text
from flexnode.model.artifact import Arch
from flexnode.model.facts import Facts

_OS_RELEASE = ("/etc/os-release", "/usr/lib/os-release")
_DPKG = "/var/lib/dpkg/status"
_TIME_DAEMONS = ("chrony.service", "ntpsec.service", "ntp.service", "openntpd.service", "chronyd.service")
_RESOLVED = "systemd-resolved.service"
_RELEASE = re.compile(r"(\d+)\.(\d+)(?:[.+~-].*)?")
_ANYWHERE = "0" * 32
_DPKG_ITSELF = re.compile(r"^Package: dpkg$(?:\n.+)*", re.MULTILINE)


def read_facts(host: Host) -> Facts:
    """Nothing is guessed: what a root file system that does not run cannot tell is 0 or empty."""
    files = host.files
    release = next((parse_os_release(text) for path in _OS_RELEASE if (text := _find_text(files, path))), {})
    units = host.units.find_all((*_TIME_DAEMONS, _RESOLVED))
    return Facts(
        arch=parse_arch(_find_text(files, _DPKG)),
        os_id=release.get("ID", ""),
        os_version=release.get("VERSION_ID", ""),
        codename=release.get("VERSION_CODENAME", ""),
        cpus=count_cpus(_find_text(files, "/sys/devices/system/cpu/online")),
        memory=parse_memory(_find_text(files, "/proc/meminfo")),
        hostname=(
            _find_text(files, "/proc/sys/kernel/hostname") or _find_text(files, "/etc/hostname")
        ).strip(),
        system_uuid=read_system_uuid(files),
        kernel=parse_kernel(_find_text(files, "/proc/sys/kernel/osrelease")),
        time_daemon=next((name for name in _TIME_DAEMONS if _is_used(units[name])), ""),
        resolved=_is_used(units[_RESOLVED]),
        ipv6=has_ipv6(_find_text(files, "/proc/net/if_inet6"), _find_text(files, "/proc/net/ipv6_route")),
    )


def read_system_uuid(files: Files) -> str:
    """What the firmware calls this machine, and kubelet reports; empty where it gives it no name."""
    return _find_text(files, "/sys/class/dmi/id/product_uuid").strip().lower()


def parse_os_release(text: str) -> Mapping[str, str]:
    """os-release(5): assignments as a shell would read them."""
    found = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith("#"):
            try:
                found[key] = "".join(shlex.split(value))
            except ValueError:
                continue  # a quote without its end
    return found


def parse_arch(status: str) -> Arch:
    """The architecture that dpkg itself was installed for: programs of another one need not run here."""
    if found := _DPKG_ITSELF.search(status):
        lines = found[0].splitlines()
        name = next((line[14:].strip() for line in lines if line.startswith("Architecture: ")), "")
        if name in set(Arch):
            return Arch(name)
        raise failure(
            Code.UNSUPPORTED,
            f"this machine's architecture is {name or 'not known to dpkg'}",
            hint=f"a node can be {' or '.join(Arch)}",
        )
    raise failure(
        Code.UNSUPPORTED,
        f"{_DPKG} does not tell this machine's architecture",
        hint="a node is a Debian or Ubuntu machine",
    )


def count_cpus(online: str) -> int:
    """How many a list such as 0-3,8 names."""
    count = 0
    for part in online.strip().split(","):
        if match := re.fullmatch(r"(\d+)(?:-(\d+))?", part):
            count += int(match[2] or match[1]) - int(match[1]) + 1
    return count


def parse_memory(meminfo: str) -> int:
    """All that the kernel manages, in bytes."""
    match = re.search(r"^MemTotal:\s+(\d+) kB$", meminfo, re.MULTILINE)
    return int(match[1]) * 1024 if match else 0


def parse_kernel(release: str) -> tuple[int, int]:
    """6.1 of 6.1.0-28-amd64; a release that has another form is none."""
    match = _RELEASE.fullmatch(release.strip())
    return (int(match[1]), int(match[2])) if match else (0, 0)


def has_ipv6(addresses: str, routes: str) -> bool:
    """Whether an interface that leads anywhere has a global address; those of pod networks do not count."""
    rows = [line.split() for line in routes.splitlines()]
    leading = {row[9] for row in rows if len(row) > 9 and row[0] == _ANYWHERE and row[1] == "00"} - {"lo"}
    entries = [line.split() for line in addresses.splitlines()]
    return any(len(entry) > 5 and entry[3] == "00" and entry[5] in leading for entry in entries)


def _is_used(info: UnitInfo) -> bool:
    """A unit that merely failed a moment ago is the machine's choice still."""
    return info.enablement is Enablement.ENABLED or bool(info.active)


def _find_text(files: Files, path: str) -> str:
    """Empty if there is no such file, or if it is for root's eyes only and this is somebody else."""
    return find_text(files, path, besides=(Code.PERMISSION,)) or ""
