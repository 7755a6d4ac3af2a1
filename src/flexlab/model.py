"""What a lab is: frozen values, and the one address plan that every lab shares.

Each lab has a network of its own that nothing else can see, so all of them use the same addresses.
"""

from __future__ import annotations

import re
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network

import msgspec

from flexnode.errors import UsageError

NODE_NETWORK = IPv4Network("10.200.0.0/24")
GATEWAY = IPv4Address("10.200.0.1")  # DNS, DHCP, time, proxy, artifact server, registry
API_SERVER = IPv4Address("10.200.0.10")
FIRST_NODE = IPv4Address("10.200.0.20")
METADATA = IPv4Address("169.254.169.254")
POD_NETWORK = IPv4Network("10.244.0.0/16")
SERVICE_NETWORK = IPv4Network("10.96.0.0/16")
CLUSTER_DNS = IPv4Address("10.96.0.10")
DOMAIN = "lab.internal"

PROXY_PORT = 3128
ARTIFACTS_PORT = 8080  # plain HTTP: the content-addressed store, with switchable faults
ARTIFACTS_TLS_PORT = 8443  # the same over HTTPS, certificate signed by the lab's CA
REGISTRY_PORT = 5000  # container images over HTTPS, certificate signed by the lab's CA
API_PORT = 6443

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?")


class Suite(StrEnum):
    """The operating systems that the laboratory makes machines of."""

    BOOKWORM = "bookworm"
    TRIXIE = "trixie"


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One machine. Everything that tells it from the others follows from its lab, name and index."""

    name: str
    index: int
    suite: Suite
    uuid: str
    cpus: int = 2
    memory_mib: int = 2048
    disk_gib: int = 8

    @property
    def address(self) -> IPv4Address:
        return FIRST_NODE + self.index

    @property
    def mac(self) -> str:
        return f"52:54:00:c8:00:{20 + self.index:02x}"

    @property
    def tap(self) -> str:
        return f"tap{self.index}"


class LabSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a lab was asked to be: `lab.json` in its folder. What it is now is observed, never stored."""

    name: str
    kubernetes: str
    suite: Suite
    nodes: tuple[NodeSpec, ...] = ()

    def node(self, name: str) -> NodeSpec:
        for node in self.nodes:
            if node.name == name:
                return node
        known = ", ".join(node.name for node in self.nodes) or "none"
        raise UsageError(
            f"lab {self.name} has no node {name} (it has: {known})",
            code="lab/no-such-node",
            hint=f"run `flexlab node add --name {self.name} {name}`",
        )


def parse_name(text: str, what: str) -> str:
    """A name that fits a host name, an interface and a file name."""
    if not NAME.fullmatch(text):
        raise UsageError(
            f"{what} {text!r} is not a valid name",
            code="lab/bad-name",
            hint="use 1 to 22 lower-case letters, digits and dashes, with a letter or digit at both ends",
        )
    return text
