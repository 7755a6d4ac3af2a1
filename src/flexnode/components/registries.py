"""Registry mirrors: where containerd pulls the images of a registry from, before it asks the registry."""

from __future__ import annotations

from urllib.parse import urlsplit

from flexnode.components.declare import directory, text_file
from flexnode.components.inputs import MachineInputs
from flexnode.components.layout import REGISTRIES
from flexnode.components.toml import render_toml
from flexnode.model.machine import RegistryMirror
from flexnode.resources import Resource


def compose_registries(inputs: MachineInputs) -> tuple[Resource, ...]:
    """containerd reads these at each pull: nothing restarts."""
    return tuple(
        resource for mirror in inputs.machine.runtime.registries for resource in _compose_mirror(mirror)
    )


def _compose_mirror(mirror: RegistryMirror) -> tuple[Resource, ...]:
    place = f"{REGISTRIES}/{mirror.registry}"
    authority = f"{place}/ca.crt" if mirror.ca else ""
    return (
        directory(place),
        *((text_file(authority, mirror.ca),) if mirror.ca else ()),
        text_file(f"{place}/hosts.toml", render_hosts(mirror, authority)),
    )


def render_hosts(mirror: RegistryMirror, authority: str) -> str:
    """The endpoints in order. The registry itself comes last unnamed: that is containerd's default."""
    return "\n".join(_render_endpoint(endpoint, authority) for endpoint in mirror.endpoints)


def _render_endpoint(endpoint: str, authority: str) -> str:
    lines = [f"[host.{render_toml(endpoint)}]", "capabilities = ['pull', 'resolve']"]
    if urlsplit(endpoint).path.startswith("/v2/"):
        # A path of the mirror's own below the API's: containerd would append another /v2 to it.
        lines.append("override_path = true")
    if authority and endpoint.startswith("https://"):
        lines.append(f"ca = {render_toml(authority)}")
    return "".join(f"{line}\n" for line in lines)
