"""What the product does with a container runtime that runs."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from flexnode.clock import Clock, SystemClock
from flexnode.errors import CommandError, HostError
from flexnode.host.command import Command, Completed, run
from flexnode.host.cri import messages as cri
from flexnode.host.cri.channel import Channel
from flexnode.host.cri.client import CriClient
from flexnode.host.failures import Code, failure
from flexnode.host.image_archive import read_references

SOCKET = "/run/containerd/containerd.sock"
NAMESPACE = "k8s.io"
"""containerd's namespace in which kubelet's images and containers live."""

_GRACE = 10
_AT_ONCE = 8
_IMPORT = 900.0
_SEEN = 15.0
"""Seconds after which an imported image must have been noticed by the part of containerd that speaks CRI."""

_PULLING = ("failed to get sandbox image", "failed to pull")
"""How containerd says that the image of the sandbox itself is still missing."""

_CHECK = {"flexnode.io/purpose": "check"}
_SLICE = "system.slice"
"""With the systemd cgroup driver a sandbox must name the slice that it lives in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CriRuntime:
    """containerd: over its socket, and, for archives of images, which CRI has no word for, through ctr."""

    socket: str = SOCKET
    run: Callable[[Command], Completed] = run
    clock: Clock = field(default_factory=SystemClock)

    @property
    def client(self) -> CriClient:
        return CriClient(channel=Channel(path=self.socket, clock=self.clock))

    def images(self) -> frozenset[str]:
        found = self.client.list_images()
        return frozenset(name for image in found for name in (*image.repo_tags, *image.repo_digests))

    def import_image(self, archive: Path) -> None:
        argv = ("ctr", "--address", self.socket, "--namespace", NAMESPACE, "images", "import", str(archive))
        try:
            self.run(Command(argv=argv, timeout=_IMPORT))
        except CommandError as error:
            if error.code != "host/command-failed":
                raise
            said = error.message.rpartition(": ctr: ")[2]
            down = any(words in said for words in ("cannot access socket", "connection refused"))
            code = Code.RUNTIME_DOWN if down else Code.RUNTIME_REFUSED
            raise failure(code, f"the container runtime cannot import {archive.name}: {said}") from error
        self._await(frozenset(read_references(archive)), archive)

    def pull_image(self, reference: str) -> None:
        try:
            self.client.pull_image(reference)
        except HostError as error:
            if error.code == Code.RUNTIME_NOT_FOUND:
                hint = (
                    "compare the reference with what the registry offers, and with the mirrors that are set"
                )
                raise failure(
                    Code.IMAGE_MISSING, f"no registry has the image {reference}", hint=hint
                ) from error
            if error.code == Code.RUNTIME_REFUSED:
                raise failure(Code.PULL, f"{reference} was not pulled: {error.message}") from error
            raise

    def remove_image(self, reference: str) -> None:
        self.client.remove_image(reference)  # one that is not there is no failure to CRI

    def stop_all_pods(self) -> Sequence[str]:
        sandboxes = self.client.list_sandboxes()
        containers = [
            each for each in self.client.list_containers() if each.state == cri.ContainerState.RUNNING
        ]

        def stop(sandbox: cri.PodSandbox) -> HostError | None:
            try:
                for container in containers:
                    if container.pod_sandbox_id == sandbox.id:
                        _tolerate_missing(self.client.stop_container, container.id, grace=_GRACE)
                self._remove_sandbox(sandbox.id)
            except HostError as error:
                return error
            return None

        # One that hangs must not keep the others waiting, nor its failure keep them running.
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            failures = [error for error in pool.map(stop, sandboxes) if error is not None]
        if failures:
            raise failures[0]
        return sorted(_describe(sandbox) for sandbox in sandboxes)

    def try_sandbox(self) -> None:
        for left in self.client.list_sandboxes(_CHECK):
            self._remove_sandbox(left.id)
        try:
            sandbox = self.client.run_sandbox(compose_check())
        except HostError as error:
            if error.transient:
                raise
            if any(words in error.message for words in _PULLING):
                raise failure(Code.PULL, f"no pod can start here yet: {error.message}") from error
            raise failure(
                Code.SANDBOX,
                f"no pod can start here: {error.message}",
                hint="see journalctl -u containerd; runc must be built with seccomp",
            ) from error
        self._remove_sandbox(sandbox)

    def _remove_sandbox(self, sandbox: str) -> None:
        _tolerate_missing(self.client.stop_sandbox, sandbox)
        _tolerate_missing(self.client.remove_sandbox, sandbox)

    def _await(self, references: frozenset[str], archive: Path) -> None:
        """Return when CRI knows the images: it learns of an import from an event, a moment later."""
        deadline = self.clock.monotonic() + _SEEN
        while not references <= self.images():
            if self.clock.monotonic() >= deadline:
                missing = ", ".join(sorted(references - self.images()))
                message = f"{archive.name} was imported, but the container runtime does not show {missing}"
                raise failure(Code.RUNTIME_TIMEOUT, message)
            self.clock.sleep(0.1)


def compose_check() -> cri.PodSandboxConfig:
    """A sandbox that needs no pod network, and needs what every pod needs: the default seccomp profile."""
    metadata = cri.PodSandboxMetadata(name="check", namespace="aks-flex-node", uid=str(uuid.uuid4()))
    security = cri.SandboxSecurity(
        namespace_options=cri.NamespaceOption(network=cri.NamespaceMode.NODE),
        seccomp=cri.SecurityProfile(profile_type=cri.ProfileType.RUNTIME_DEFAULT),
    )
    linux = cri.LinuxSandbox(cgroup_parent=_SLICE, security_context=security)
    return cri.PodSandboxConfig(metadata=metadata, labels=_CHECK, linux=linux)


def _tolerate_missing(call: Callable[..., None], target: str, **options: int) -> None:
    try:
        call(target, **options)
    except HostError as error:
        if error.code != Code.RUNTIME_NOT_FOUND:
            raise


def _describe(sandbox: cri.PodSandbox) -> str:
    return f"{sandbox.metadata.namespace}/{sandbox.metadata.name}" if sandbox.metadata else sandbox.id
