"""A bad line between a machine and the bridge: delay, jitter, loss, or a partition.

While a line is impaired the machine's tap is taken off the bridge and a relay process carries its frames.
That needs no traffic shaper in the host's kernel, and a relay that dies cuts the line instead of healing
it unseen.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from flexlab import process
from flexlab.errors import LabError
from flexlab.lab import Lab
from flexlab.model import NodeSpec
from flexlab.network.namespace import BRIDGE
from flexlab.process import Service
from flexnode.clock import Clock


class Impairment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a line does to frames, both ways. `blocked` lists the networks it lets nothing from or to.

    `open_ports` are TCP ports that stay open there all the same, and with them what it takes to find each
    other (ARP): a machine without a network that can still be looked at, or with a proxy as its only way out.
    """

    delay_ms: float = 0
    jitter_ms: float = 0
    loss_percent: float = 0
    blocked: tuple[str, ...] = ()
    open_ports: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wiring:
    """The interfaces of an impaired line: tap - relay - inner=outer - bridge."""

    inner: str
    outer: str

    @classmethod
    def of(cls, node: NodeSpec) -> _Wiring:
        return cls(inner=f"relay{node.index}", outer=f"port{node.index}")


def find_impairment(lab: Lab, node: NodeSpec) -> Impairment | None:
    """What the node's line suffers from right now, or None."""
    if not process.find(lab.folder, _name(node)):
        return None
    try:
        return msgspec.json.decode(_file(lab, node).read_bytes(), type=Impairment)
    except FileNotFoundError:
        return None


def impair(lab: Lab, node: NodeSpec, impairment: Impairment, clock: Clock) -> None:
    """Make the node's line bad; replaces what it suffered from before."""
    mend(lab, node)
    place = lab.require_place()
    path = _file(lab, node)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(impairment))
    wiring = _Wiring.of(node)
    batch = (
        f"link set {node.tap} nomaster\n"
        f"link add {wiring.inner} type veth peer name {wiring.outer}\n"
        f"link set {wiring.inner} up\n"
        f"link set {wiring.outer} master {BRIDGE} up\n"
    )
    process.run(place, ("ip", "-batch", "-"), stdin=batch.encode())
    log = lab.log(_name(node))
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    module = "flexlab.network.relay"
    argv = (
        sys.executable,
        "-m",
        module,
        "--tap",
        node.tap,
        "--bridge",
        wiring.inner,
        "--impairment",
        str(path),
    )
    daemon = process.start(place, Service(name=_name(node), argv=argv, log=log))
    deadline = clock.monotonic() + 20
    while b"relaying" not in log.read_bytes():
        if clock.monotonic() > deadline or not process.find(lab.folder, _name(node)):
            process.kill([daemon])
            raise LabError(
                f"the relay of {node.name} did not start: {log.read_text().strip()[-300:]}",
                code="lab/relay-failed",
                hint=f"see {log}",
            )
        clock.sleep(0.02)


def mend(lab: Lab, node: NodeSpec) -> None:
    """Put the node's tap back on the bridge; does nothing when its line is good."""
    process.stop(process.find(lab.folder, _name(node)))
    _file(lab, node).unlink(missing_ok=True)
    place = lab.find_place()
    if place is None:
        return
    wiring = _Wiring.of(node)
    # The bridge port first: deleting one end of a veth pair deletes the other.
    process.run(place, ("ip", "link", "delete", wiring.outer), expect=(0, 1))
    process.run(place, ("ip", "link", "set", node.tap, "master", BRIDGE), expect=(0, 1))


def _name(node: NodeSpec) -> str:
    return f"relay-{node.name}"


def _file(lab: Lab, node: NodeSpec) -> Path:
    return lab.node_folder(node) / "impairment.json"
