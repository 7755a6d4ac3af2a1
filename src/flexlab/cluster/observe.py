"""What a lab is right now, asked of the kernel and of the cluster."""

from __future__ import annotations

import msgspec

from flexlab import control_plane, machine, process
from flexlab.artifact_server import Fault, load_faults
from flexlab.control_plane.credentials import API_URL
from flexlab.gateway import GatewayFaults
from flexlab.gateway import load_faults as load_gateway_faults
from flexlab.lab import Lab
from flexlab.model import ARTIFACTS_PORT, ARTIFACTS_TLS_PORT, DOMAIN, PROXY_PORT, REGISTRY_PORT, Suite
from flexlab.network import Impairment, find_impairment


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One machine."""

    name: str
    suite: Suite
    address: str
    running: bool
    impairment: Impairment | None


class LabStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One lab; `services` says where its machines reach what."""

    name: str
    kubernetes: str
    folder: str
    api_server: str
    api_ready: bool
    kubeconfig: str
    processes: dict[str, int]
    nodes: tuple[NodeStatus, ...]
    services: dict[str, str]
    gateway_faults: GatewayFaults
    artifact_faults: tuple[Fault, ...]


def observe(lab: Lab) -> LabStatus:
    """Look at everything; changes nothing."""
    place = lab.find_place()
    return LabStatus(
        name=lab.name,
        kubernetes=lab.spec.kubernetes,
        folder=str(lab.folder),
        api_server=API_URL,
        api_ready=place is not None and control_plane.is_ready(lab, place),
        kubeconfig=str(lab.admin_kubeconfig),
        processes={daemon.name: daemon.pid for daemon in process.find(lab.folder) if daemon.name},
        nodes=tuple(
            NodeStatus(
                name=node.name,
                suite=node.suite,
                address=str(node.address),
                running=machine.is_running(lab, node),
                impairment=find_impairment(lab, node),
            )
            for node in lab.spec.nodes
        ),
        services={
            "artifacts": f"http://artifacts.{DOMAIN}:{ARTIFACTS_PORT}",
            "artifacts-tls": f"https://artifacts.{DOMAIN}:{ARTIFACTS_TLS_PORT}",
            "proxy": f"http://proxy.{DOMAIN}:{PROXY_PORT}",
            "registry": f"https://registry.{DOMAIN}:{REGISTRY_PORT}",
        },
        gateway_faults=load_gateway_faults(lab.gateway),
        artifact_faults=tuple(load_faults(lab.faults)),
    )
