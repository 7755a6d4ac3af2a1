"""The instance metadata service, at its real address, in the shape of Azure's."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

from flexlab.gateway.zone import Zone
from flexlab.model import NodeSpec

USER_DATA = "user-data"
"""The file in a node's folder whose content the service hands out as the machine's user data."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What the service answers."""

    status: HTTPStatus
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"


def answer(target: str, headers: dict[str, str], client: str, zone: Zone) -> Reply:
    """The reply to `GET target` from the machine with address `client`. Header names are in lower case."""
    node = zone.find_node(address=client)
    if node is None:
        return Reply(status=HTTPStatus.FORBIDDEN, body=b"not a machine of this lab\n")
    if zone.faults().metadata:
        return Reply(status=HTTPStatus.SERVICE_UNAVAILABLE)
    # As in the cloud: what came through a proxy, or was not meant for this service, is refused.
    if headers.get("metadata", "").lower() != "true" or "x-forwarded-for" in headers:
        return Reply(status=HTTPStatus.BAD_REQUEST, body=b"Required metadata header not specified\n")
    path = urlsplit(target).path.rstrip("/")
    if path == "/metadata/instance/compute/userData":
        return Reply(status=HTTPStatus.OK, body=base64.b64encode(_read_user_data(zone.lab_folder, node)))
    if path == "/metadata/instance":
        return Reply(
            status=HTTPStatus.OK, body=json.dumps(_describe(node)).encode(), content_type="application/json"
        )
    return Reply(status=HTTPStatus.NOT_FOUND)


def _describe(node: NodeSpec) -> dict[str, object]:
    ip = {"privateIpAddress": str(node.address), "publicIpAddress": ""}
    return {
        "compute": {"name": node.name, "vmId": node.uuid, "location": "lab", "provider": "flexlab"},
        "network": {"interface": [{"ipv4": {"ipAddress": [ip]}, "macAddress": node.mac.replace(":", "")}]},
    }


def _read_user_data(lab_folder: Path, node: NodeSpec) -> bytes:
    try:
        return (lab_folder / "nodes" / node.name / USER_DATA).read_bytes()
    except FileNotFoundError:
        return b""
