"""All that lasts on a machine, as lines to be compared before a node and after it.

Targets are left out: network-online.target, once reached, stays so until the next boot, whoever asked for it.
"""

from __future__ import annotations

from flexlab.testing import Machine

# What a running system writes by itself, node or not.
VOLATILE = (
    "/var/log/journal",  # the journal of the machine
    "/var/log/wtmp",
    "/var/log/lastlog",
    "/var/lib/systemd",  # random seed, timers, clock: systemd's own state
    "/var/lib/dhcp",
    "/var/lib/private",
    "/var/cache",
    "/var/tmp",
    "/root",  # of who tests
)

_PRUNED = " -o ".join(f"-path {path}" for path in VOLATILE)

FILES = rf"""
find /boot /etc /home /opt /srv /usr /var -xdev \( {_PRUNED} \) -prune \
  -o -type d -printf '%p %y %m %U %G\n' -o -printf '%p %y %m %U %G %s %T@ %l\n' | sort
echo "== contents"; find /boot /etc /home /opt /srv /usr /var -xdev \( {_PRUNED} \) -prune \
  -o -type f -print0 | xargs -0r sha256sum | sort -k 2
echo "== attributes"; python3 - <<'END'
import os
for top in ("/boot", "/etc", "/home", "/opt", "/srv", "/usr", "/var"):
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in {VOLATILE}]
        for path in sorted(os.path.join(folder, name) for name in folders + files):
            for name in os.listxattr(path, follow_symlinks=False):
                print(path, name, os.getxattr(path, name, follow_symlinks=False).hex())
END
"""

# The kernel's own word: a stock machine has no `nft`, and would have nothing to say about what is left.
TABLES = r"""
python3 - <<'END'
import socket, struct
GET_TABLE, DUMP_REQUEST, DONE, NAME = 10 << 8 | 1, 0x301, 3, 1
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as door:
    door.send(struct.pack("=LHHLLBBH", 20, GET_TABLE, DUMP_REQUEST, 1, 0, 0, 0, 0))
    data = b""
    while not data or struct.unpack_from("=H", data, 4)[0] != DONE:
        data = door.recv(65536)
        while len(data) >= 16 and struct.unpack_from("=H", data, 4)[0] != DONE:
            length, family = struct.unpack_from("=L", data)[0], data[16]
            size, kind = struct.unpack_from("=HH", data, 20)
            assert kind == NAME, kind
            print("table", family, data[24 : 20 + size - 1].decode())
            data = data[length + 3 & ~3 :]
END
cat /proc/net/ip_tables_names /proc/net/ip6_tables_names 2>/dev/null || true
"""

RUNNING = r"""
echo "== units"; systemctl list-unit-files --no-legend --plain
systemctl list-units --all --no-legend --plain --type=service,socket,timer,slice,mount,swap \
  | awk '{print $1, $2, $3}' | grep -v -e '^session-' -e '^user' -e '^run-user' -e '^systemd-' -e '^apt-' \
  -e '^dpkg-' -e '^man-db' -e '^e2scrub' -e '^fstrim' -e '^initrd' -e '^modprobe@' -e '^emergency' \
  -e '^rescue' | sort
echo "== mounts"; findmnt -rn -o TARGET,SOURCE,FSTYPE | grep -v /run/user | sort
echo "== network"; ip -o link | awk '{print $2, $3}' | sort; ip -o -4 addr | awk '{print $2, $4}'; ip route
echo "== ports"; ss -Hlntu | awk '{print $1, $5}' | sort
echo "== packages"; dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n'
echo "== accounts"; getent passwd; getent group
"""

# Not what a boot draws at random or works out from the free memory, nor a module that is only tried: it goes
# again where its hardware is not found.
KERNEL = r"""
systemctl is-system-running --wait >/dev/null || true; udevadm settle
echo "== modules"; awk '$5 == "Live" {print $1}' /proc/modules | sort
echo "== sysctls"; sysctl -a 2>/dev/null | grep -e '^vm\.' -e '^kernel\.' -e '^net\.' \
  | grep -v -e random -e 'file-nr' -e ns_last_pid -e cad_pid -e nf_conntrack_count -e stat_refresh -e pty.nr \
  -e boot_id -e fastopen_key -e reserve_kbytes -e net.ipv4.neigh -e 'net.ipv6.neigh' \
  -e base_reachable -e stable_secret -e uuid
"""


def look(machine: Machine) -> list[str]:
    """Files with mode, owner, time, target, contents and attributes; units, mounts, network, packet filter,
    ports, packages, accounts.
    """
    return machine.sh(FILES + RUNNING + TABLES, timeout=400).splitlines()


def look_at_kernel(machine: Machine) -> list[str]:
    """Modules and settings. Comparable right after a boot only: others change them too."""
    return machine.sh(KERNEL, timeout=120).splitlines()


def differences(before: list[str], after: list[str]) -> list[str]:
    """What came, and what went."""
    then, now = set(before), set(after)
    return [f"+ {line}" for line in after if line not in then] + [
        f"- {line}" for line in before if line not in now
    ]
