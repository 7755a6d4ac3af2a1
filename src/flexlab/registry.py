"""A real container registry: its storage filled once per set of images, served read-only to a lab."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec
import yaml

from flexlab import process
from flexlab.errors import LabError
from flexlab.images import ImageArchive, ImageReader, split_reference
from flexlab.images.archive import MANIFEST
from flexlab.parts import Parts, parts_dir
from flexlab.parts.cache import ensure
from flexlab.process import Place, Service
from flexnode.clock import Clock, SystemClock
from flexnode.progress import Progress

ENVIRONMENT = {"OTEL_TRACES_EXPORTER": "none"}
"""What the registry runs with: else it sends traces to a collector that nobody runs, and complains of it."""

STORAGE_FORMAT = 1
READY_WITHIN = 30.0
_BASE = "http://registry"


def ensure_registry_storage(parts: Parts, progress: Progress) -> Path:
    """The storage folder that holds all images of `parts`; filled where it is missing."""
    return ensure(StorageFill(parts=parts, clock=SystemClock()), parts_dir(), progress).folder


def render_config(*, listen: str, storage: str | Path, certificate: str = "", key: str = "") -> str:
    """The configuration for a lab: listens on HOST:PORT, read-only, with TLS where a certificate is given."""
    http: dict[str, Any] = {"addr": listen}
    if certificate:
        http["tls"] = {"certificate": certificate, "key": key}
    return _render(http, str(storage), readonly=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageFill:
    """A cache job: push the images into an empty registry and keep what it wrote."""

    parts: Parts
    clock: Clock

    @property
    def name(self) -> str:
        return f"registry-{self.parts.kubernetes}"

    @property
    def title(self) -> str:
        return f"fill the registry for Kubernetes {self.parts.kubernetes}"

    def inputs(self) -> Mapping[str, object]:
        images = {image.reference: image.digest for image in self.parts.images}
        return {"format": STORAGE_FORMAT, "images": images}

    def make(self, folder: Path, log: Path) -> None:
        log.unlink(missing_ok=True)
        binary = self.parts.binary("registry")
        with serve_on_socket(binary, folder, log=log, clock=self.clock, readonly=False) as client:
            for image in self.parts.images:
                push_image(client, image)


def push_image(client: httpx.Client, image: ImageArchive) -> None:
    """Push `image` by the OCI distribution protocol: its blobs where they are missing, then its manifest."""
    _, name, tag = split_reference(image.reference)
    reader = ImageReader(image.path)
    manifest = reader.read_blob(image.digest)
    listed = msgspec.json.decode(manifest)
    for descriptor in (listed["config"], *listed["layers"]):
        _push_blob(client, name, descriptor["digest"], reader)
    answer = client.put(f"/v2/{name}/manifests/{tag}", content=manifest, headers={"Content-Type": MANIFEST})
    _check(answer, httpx.codes.CREATED)
    if answer.headers.get("Docker-Content-Digest") != image.digest:
        raise LabError(
            f"the registry keeps {image.reference} under another digest than {image.digest}",
            code="registry/digest-mismatch",
            hint="remove the image from the cache; it will be made again",
        )


def _push_blob(client: httpx.Client, name: str, digest: str, reader: ImageReader) -> None:
    if client.head(f"/v2/{name}/blobs/{digest}").status_code == httpx.codes.OK:
        return
    started = client.post(f"/v2/{name}/blobs/uploads/")
    _check(started, httpx.codes.ACCEPTED)
    place = httpx.URL(_BASE).join(started.headers["Location"]).copy_merge_params({"digest": digest})
    data = reader.read_blob(digest)
    answer = client.put(place, content=data, headers={"Content-Type": "application/octet-stream"})
    _check(answer, httpx.codes.CREATED)


def _check(answer: httpx.Response, expected: int) -> None:
    if answer.status_code != expected:
        raise LabError(
            f"the registry answered {answer.request.method} {answer.request.url.path} with "
            f"{answer.status_code}: {answer.text[:300]}",
            code="registry/push-failed",
            hint=f"its log is in {parts_dir() / 'logs'}",
        )


@contextmanager
def serve_on_socket(
    registry: Path, storage: Path, *, log: Path, clock: Clock, readonly: bool
) -> Iterator[httpx.Client]:
    """A registry on a socket file, which nobody else reaches and no port number is lost to."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        door = folder / "socket"
        config = folder / "config.yaml"
        config.write_text(_render({"net": "unix", "addr": str(door)}, str(storage), readonly=readonly))
        service = Service(
            name="registry", argv=(str(registry), "serve", str(config)), log=log, env=ENVIRONMENT
        )
        daemon = process.start(Place(lab=folder), service)
        try:
            transport = httpx.HTTPTransport(uds=str(door))
            with httpx.Client(transport=transport, base_url=_BASE, timeout=120, trust_env=False) as client:
                _wait_until_ready(client, door, daemon.pid, log, clock)
                yield client
        finally:
            process.stop([daemon])


def _wait_until_ready(client: httpx.Client, door: Path, pid: int, log: Path, clock: Clock) -> None:
    deadline = clock.monotonic() + READY_WITHIN
    while True:
        try:
            if _listens(door) and client.get("/v2/").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass  # it listens, and does not answer yet
        if clock.monotonic() > deadline or not _runs(pid):
            raise LabError(
                f"the registry did not start; it said: {_tail(log)}",
                code="registry/not-started",
                hint=f"the whole log is {log}",
            )
        clock.sleep(0.05)


def _listens(door: Path) -> bool:
    """Asked without the HTTP client, which leaves a socket open where nobody listens."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(door)) == 0


def _runs(pid: int) -> bool:
    """Whether our child still runs; one that ended is collected on the way."""
    return os.waitpid(pid, os.WNOHANG) == (0, 0)


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-1000:].strip() if log.exists() else "nothing"


def _render(http: dict[str, Any], storage: str, *, readonly: bool) -> str:
    maintenance: dict[str, Any] = {"uploadpurging": {"enabled": False}}
    if readonly:
        maintenance["readonly"] = {"enabled": True}
    config = {
        "version": 0.1,
        "log": {"level": "info", "formatter": "text"},
        "storage": {"filesystem": {"rootdirectory": storage}, "maintenance": maintenance},
        "http": {**http, "headers": {"X-Content-Type-Options": ["nosniff"]}},
    }
    return yaml.safe_dump(config, sort_keys=False)
