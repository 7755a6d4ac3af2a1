"""What lies on a stock Debian 12, as far as the product looks at it."""

from __future__ import annotations

from flexnode.host.fake.files import FakeFiles
from flexnode.host.fake.units import FakeUnits

_DIRECTORIES = (
    "/boot",
    "/dev",
    "/etc/apt/apt.conf.d",
    "/etc/modules-load.d",
    "/etc/sysctl.d",
    "/etc/systemd/system",
    "/home",
    "/opt",
    "/proc",
    "/run/systemd/system",
    "/srv",
    "/usr/bin",
    "/usr/local/bin",
    "/usr/local/lib",
    "/usr/local/sbin",
    "/usr/local/share/ca-certificates",
    "/usr/lib/systemd/system",
    "/usr/sbin",
    "/var/cache",
    "/var/lib",
    "/var/log",
)

_LINKS = {
    "/bin": "usr/bin",
    "/lib": "usr/lib",
    "/sbin": "usr/sbin",
    "/etc/os-release": "../usr/lib/os-release",
    "/etc/resolv.conf": "../run/systemd/resolve/stub-resolv.conf",
    "/var/run": "/run",
}

_FILES = {
    "/usr/lib/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\n'
    'VERSION_ID="12"\nVERSION="12 (bookworm)"\nVERSION_CODENAME=bookworm\nID=debian\n',
    "/etc/fstab": "UUID=0c8ffa17-58f3-4f5e-9d0c-0d2bd9b2f6a1 / ext4 rw,discard 0 1\n",
    "/etc/group": "root:x:0:\nadm:x:4:\nsystemd-journal:x:999:\n",
    "/etc/hostname": "node-1\n",
    "/etc/hosts": "127.0.0.1 localhost\n",
    "/etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\n",
    "/proc/meminfo": "MemTotal:        8131108 kB\nMemFree:         6871844 kB\n",
    "/proc/net/if_inet6": "00000000000000000000000000000001 01 80 10 80       lo\n",
    "/proc/sys/kernel/hostname": "node-1\n",
    "/proc/sys/kernel/osrelease": "6.1.0-28-amd64\n",
    "/run/systemd/resolve/resolv.conf": "nameserver 192.0.2.53\n",
    "/run/systemd/resolve/stub-resolv.conf": "nameserver 127.0.0.53\n",
    "/sys/class/dmi/id/product_uuid": "6f1f0a5c-0f4e-4a4b-9a53-0a4f6f0e2f11\n",
    "/sys/devices/system/cpu/online": "0-3\n",
    "/var/lib/dpkg/status": "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\n\n",
}

_ENABLED = ("ssh.service", "systemd-resolved.service", "systemd-timesyncd.service")
_STATIC = ("multi-user.target", "swap.target", "systemd-journald.service", "systemd-networkd.service")


def lay_out_debian(files: FakeFiles, units: FakeUnits) -> None:
    """Set the scene: a freshly booted machine."""
    for path in _DIRECTORIES:
        files.place_directory(path)
    files.place_directory("/root", mode=0o700)
    files.place_directory("/tmp", mode=0o1777)  # noqa: S108 it is the machine's own
    for path, target in _LINKS.items():
        files.place_link(path, target)
    for path, text in _FILES.items():
        files.place(path, text)
    for name in _ENABLED:
        units.place(name, enabled=True, active=units.running)
    for name in _STATIC:
        units.place(name, f"[Unit]\nDescription={name}\n")
    if units.running:
        units.start("multi-user.target")
        units.start("systemd-journald.service")
    units.steps.done.clear()
