"""What a stock machine of the laboratory has, and what a user's machine would have that only costs time here.

The packages are those of a Debian cloud image. Nothing of Kubernetes is among them.
"""

from __future__ import annotations

from dataclasses import dataclass

from flexlab.model import Suite

ROOT_UUID = "8f3b1c52-6d0e-4b7a-9c41-5e2f7a90d314"
"""All machines boot copies of one disk; which machine it is comes from outside (UUID, MAC, command line)."""

PACKAGES = (
    "apparmor",
    "apt",
    "busybox-static",  # the first stage of the boot
    "ca-certificates",
    "cron",
    "curl",
    "dbus",
    "debian-archive-keyring",
    "e2fsprogs",
    "initramfs-tools",
    "iproute2",
    "iputils-ping",
    "kmod",
    "less",
    "libnss-myhostname",
    "libnss-resolve",
    "libpam-systemd",
    "linux-image-cloud-amd64",
    "logrotate",
    "netbase",
    "nftables",
    "openssh-server",
    "polkitd",
    "procps",
    "python3",
    "sudo",
    "systemd",
    "systemd-resolved",
    "systemd-sysv",
    "systemd-timesyncd",
    "tzdata",
    "udev",
)

DPKG_OPTIONS = (
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/locale/*",
)
"""Half of the files of a small system is documentation; writing it is what an emulated disk is slowest at."""

EARLY_FILES = {
    # Debian's initrd is made once at installation and never booted (see initrd.py): make it cheap.
    "etc/initramfs-tools/conf.d/flexlab": "MODULES=list\nCOMPRESS=zstd\nCOMPRESSLEVEL=1\n",
}
"""In place before the kernel is installed."""

ENABLED = (
    "systemd-networkd.service",
    "ssh.service",
    "flexlab-host-key.service",
    "serial-getty@ttyS0.service",
)

MASKED = (
    # Each would start in the middle of a test, or costs seconds of an emulated boot, and tells nothing about
    # a node: housekeeping by the calendar, and devices that no machine of the laboratory has.
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "systemd-binfmt.service",
    "systemd-pstore.service",
    "getty@tty1.service",
)

_NETWORK = """\
[Match]
Name=en* eth*

[Network]
DHCP=ipv4
LinkLocalAddressing=no
IPv6AcceptRA=no
"""

_HOST_KEY = """\
[Unit]
Description=Make this machine's SSH host key on its first boot
ConditionPathExists=!/etc/ssh/ssh_host_ed25519_key
Before=ssh.service

[Service]
Type=oneshot
# Durable before it has its name: a power cut would else leave an empty key, and a machine that nobody enters.
ExecStart=rm -f /etc/ssh/draft_key /etc/ssh/draft_key.pub
ExecStart=ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/draft_key
ExecStart=sync /etc/ssh/draft_key
ExecStart=mv /etc/ssh/draft_key.pub /etc/ssh/ssh_host_ed25519_key.pub
ExecStart=mv /etc/ssh/draft_key /etc/ssh/ssh_host_ed25519_key
ExecStart=sync /etc/ssh

[Install]
WantedBy=multi-user.target
"""

# A shell for whoever holds the console; --login-pause spares a boot that nobody watches the login.
_SERIAL_CONSOLE = """\
[Service]
ExecStart=
ExecStart=-/sbin/agetty --autologin root --login-pause --keep-baud 115200,57600,38400,9600 - $TERM
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contents:
    """All that decides what a base image is, besides what its archive holds at the time."""

    suite: Suite
    packages: tuple[str, ...] = PACKAGES
    dpkg_options: tuple[str, ...] = DPKG_OPTIONS
    enabled: tuple[str, ...] = ENABLED
    masked: tuple[str, ...] = MASKED

    @property
    def files(self) -> dict[str, str]:
        return {
            "etc/fstab": f"UUID={ROOT_UUID} / ext4 rw,discard,errors=remount-ro 0 1\n",
            "etc/machine-id": "",  # made from the machine's UUID; "uninitialized" would run all presets
            "etc/hosts": "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n",
            "etc/systemd/network/80-dhcp.network": _NETWORK,
            "etc/systemd/system/flexlab-host-key.service": _HOST_KEY,
            "etc/systemd/system/serial-getty@ttyS0.service.d/autologin.conf": _SERIAL_CONSOLE,
            "etc/ssh/sshd_config.d/flexlab.conf": "HostKey /etc/ssh/ssh_host_ed25519_key\nUseDNS no\n",
        }
