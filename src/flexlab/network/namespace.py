"""The network namespace of a lab: made by one process, gone when the lab's last process is gone.

No named namespace and no mount is made: a killed `flexlab up` leaves nothing the kernel does not collect.
"""

from __future__ import annotations

import os

from flexlab import process
from flexlab.errors import LabError
from flexlab.lab import NETWORK_PROCESS, Lab
from flexlab.model import API_SERVER, GATEWAY, METADATA, NODE_NETWORK, NodeSpec
from flexlab.process import Place, Service
from flexnode.clock import Clock

BRIDGE = "br0"

# Fixed: a bridge without an address of its own takes that of a port, and changes it when the port leaves.
_BRIDGE_MAC = "52:54:00:c8:00:01"

_SETTINGS = (
    "net.ipv4.ip_forward=1",  # the namespace is the cloud's router between pods of different nodes
    "net.ipv4.conf.all.send_redirects=0",  # nodes must keep coming through it, as in a cloud
    "net.ipv4.conf.default.send_redirects=0",
    # Only the bridge has addresses; a tap that a relay took off it would else answer for them as well.
    "net.ipv4.conf.default.arp_ignore=8",
)


def up(lab: Lab, clock: Clock) -> Place:
    """Make the lab's network, or find it; every part of it that is missing is added."""
    place = lab.find_place()
    if place is None:
        place = _start_namespace(lab, clock)
    if BRIDGE not in _interfaces(place):
        _run_ip(
            place,
            "link set lo up",
            f"link add {BRIDGE} address {_BRIDGE_MAC} type bridge",
            f"addr add {GATEWAY}/{NODE_NETWORK.prefixlen} dev {BRIDGE}",
            f"addr add {API_SERVER}/32 dev {BRIDGE}",
            f"addr add {METADATA}/32 dev {BRIDGE}",
            f"link set {BRIDGE} up",
        )
        process.run(place, ("sysctl", "-qw", *_SETTINGS))
    for node in lab.spec.nodes:
        add_tap(place, node)
    return place


def add_tap(place: Place, node: NodeSpec) -> None:
    """Give a machine its port on the bridge; does nothing when it has one."""
    if node.tap in _interfaces(place):
        return
    _run_ip(place, f"tuntap add dev {node.tap} mode tap", f"link set {node.tap} master {BRIDGE} up")


def remove_tap(place: Place, node: NodeSpec) -> None:
    if node.tap in _interfaces(place):
        _run_ip(place, f"link delete {node.tap}")


def _start_namespace(lab: Lab, clock: Clock) -> Place:
    service = Service(
        name=NETWORK_PROCESS,
        argv=("unshare", "--net", "--", "sleep", "infinity"),
        log=lab.log(NETWORK_PROCESS),
    )
    holder = process.start(Place(lab=lab.folder), service)
    own = os.readlink("/proc/self/ns/net")
    deadline = clock.monotonic() + 10
    while clock.monotonic() < deadline:
        try:
            if os.readlink(f"/proc/{holder.pid}/ns/net") != own:
                return Place(lab=lab.folder, netns_of=holder.pid)
        except OSError:
            break
        clock.sleep(0.01)
    raise LabError(
        "no network namespace could be made",
        code="lab/no-namespace",
        hint=f"flexlab needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN); see {service.log}",
    )


def _interfaces(place: Place) -> set[str]:
    listed = process.run(place, ("ip", "-brief", "link")).text
    return {line.split()[0].partition("@")[0] for line in listed.splitlines()}


def _run_ip(place: Place, *commands: str) -> None:
    process.run(place, ("ip", "-batch", "-"), stdin="\n".join(commands).encode())
