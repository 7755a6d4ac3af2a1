"""The services beside the cluster: gateway, artifact server, image registry."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from flexlab import process, registry
from flexlab.base import list_archive_hosts
from flexlab.errors import LabError
from flexlab.lab import Lab
from flexlab.model import ARTIFACTS_PORT, ARTIFACTS_TLS_PORT, DOMAIN, GATEWAY, PROXY_PORT, REGISTRY_PORT
from flexlab.parts import Parts
from flexlab.pki import Identity, Usage, ensure_authority
from flexlab.process import Place, Service
from flexnode.clock import Clock


def start_services(lab: Lab, parts: Parts, images: Path, place: Place, clock: Clock) -> None:
    """Start those that do not run; returns when all of them listen."""
    _ensure_certificate(lab)
    # The gateway lives outside of the lab's network, with its sockets inside: it is the way out.
    _start(lab, Place(lab=lab.folder), "gateway", _gateway(lab, place))
    _start(lab, place, "artifact-server", _artifact_server(lab, parts))
    _start(lab, place, "registry", _registry(lab, parts, images), registry.ENVIRONMENT)
    for port in (PROXY_PORT, ARTIFACTS_PORT, ARTIFACTS_TLS_PORT, REGISTRY_PORT):
        _wait_for_port(lab, place, port, clock)


def _gateway(lab: Lab, place: Place) -> tuple[str, ...]:
    allowed = [word for host in list_archive_hosts() for word in ("--allow", host)]
    return (
        sys.executable,
        "-m",
        "flexlab.gateway",
        f"--lab={lab.folder}",
        f"--namespace=/proc/{place.netns_of}/ns/net",
        *allowed,
    )


def _artifact_server(lab: Lab, parts: Parts) -> tuple[str, ...]:
    return (
        sys.executable,
        "-m",
        "flexlab.artifact_server",
        f"--store={parts.store}",
        f"--faults={lab.faults}",
        f"--http={GATEWAY}:{ARTIFACTS_PORT}",
        f"--https={GATEWAY}:{ARTIFACTS_TLS_PORT}",
        f"--cert={lab.pki / 'services.crt'}",
        f"--key={lab.pki / 'services.key'}",
        f"--authority={lab.pki}",
    )


def _registry(lab: Lab, parts: Parts, images: Path) -> tuple[str, ...]:
    config = lab.folder / "registry.yaml"
    config.write_text(
        registry.render_config(
            listen=f"{GATEWAY}:{REGISTRY_PORT}",
            certificate=str(lab.pki / "services.crt"),
            key=str(lab.pki / "services.key"),
            storage=images,
        )
    )
    return (str(parts.binary("registry")), "serve", str(config))


def _ensure_certificate(lab: Lab) -> None:
    if (lab.pki / "services.crt").exists():
        return
    names = tuple(f"{name}.{DOMAIN}" for name in ("gateway", "artifacts", "registry"))
    identity = Identity(common_name=names[0], dns_names=names, addresses=(GATEWAY,), usages=(Usage.SERVER,))
    ensure_authority(lab.pki, "flexlab-kubernetes").issue(identity).write(lab.pki, "services")


def _start(
    lab: Lab, place: Place, name: str, argv: tuple[str, ...], env: Mapping[str, str] | None = None
) -> None:
    if not process.find(lab.folder, name):
        process.start(place, Service(name=name, argv=argv, log=lab.log(name), env=env or {}))


def _wait_for_port(lab: Lab, place: Place, port: int, clock: Clock) -> None:
    deadline = clock.monotonic() + 30
    listing = ("ss", "--listening", "--tcp", "--numeric", "--no-header")
    while f":{port} " not in process.run(place, listing).text:
        if clock.monotonic() > deadline:
            raise LabError(
                f"nothing listens on port {port} of lab {lab.name}",
                code="lab/service-failed",
                hint=f"see the logs in {lab.folder / 'logs'}",
            )
        clock.sleep(0.05)
