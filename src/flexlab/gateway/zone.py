"""The names and addresses of a lab, as its gateway knows them."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import msgspec

from flexlab.gateway.faults import GatewayFaults, load_faults
from flexlab.model import API_SERVER, DOMAIN, GATEWAY, LabSpec, NodeSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class Zone:
    """Reads the lab's file for each question, so that a machine is known as soon as it is added."""

    lab_folder: Path

    def nodes(self) -> tuple[NodeSpec, ...]:
        return msgspec.json.decode((self.lab_folder / "lab.json").read_bytes(), type=LabSpec).nodes

    def faults(self) -> GatewayFaults:
        return load_faults(self.lab_folder / "gateway")

    def find_address(self, name: str) -> IPv4Address | None:
        """The address of `name`, with or without the lab's domain."""
        label = name.lower().rstrip(".").removesuffix(f".{DOMAIN}")
        if label in {"gateway", "artifacts", "registry", "proxy", "time"}:
            return GATEWAY
        if label == "api":
            return API_SERVER
        return next((node.address for node in self.nodes() if node.name == label), None)

    def find_node(self, *, mac: str | None = None, address: str | None = None) -> NodeSpec | None:
        return next((node for node in self.nodes() if mac == node.mac or address == str(node.address)), None)
