"""The calls of CRI v1 that are made here, each with the time that it may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from flexnode.host.cri import messages as cri
from flexnode.host.cri.channel import Channel
from flexnode.host.cri.protobuf import ProtobufError, decode, encode
from flexnode.host.failures import Code, failure

M = TypeVar("M")

QUICK = 10.0
SLOW = 120.0
PULL = 900.0
"""Seconds: for questions, for what starts and stops processes, for what may download gigabytes."""

_RUNTIME = "runtime.v1.RuntimeService"
_IMAGES = "runtime.v1.ImageService"


@dataclass(frozen=True, kw_only=True, slots=True)
class CriClient:
    """A runtime's answers as values; a failure is a HostError with a code `runtime/…`."""

    channel: Channel

    def version(self) -> cri.VersionResponse:
        return self._ask(f"{_RUNTIME}/Version", cri.Empty(), cri.VersionResponse, QUICK)

    def conditions(self) -> tuple[cri.RuntimeCondition, ...]:
        """What the runtime says of its own readiness and that of its network."""
        answer = self._ask(f"{_RUNTIME}/Status", cri.Empty(), cri.StatusResponse, QUICK)
        return answer.status.conditions if answer.status else ()

    def run_sandbox(self, config: cri.PodSandboxConfig) -> str:
        """The id of the sandbox that runs now."""
        request = cri.RunPodSandboxRequest(config=config)
        return self._ask(f"{_RUNTIME}/RunPodSandbox", request, cri.SandboxId, SLOW).pod_sandbox_id

    def stop_sandbox(self, sandbox: str) -> None:
        self._ask(f"{_RUNTIME}/StopPodSandbox", cri.SandboxId(pod_sandbox_id=sandbox), cri.Empty, SLOW)

    def remove_sandbox(self, sandbox: str) -> None:
        self._ask(f"{_RUNTIME}/RemovePodSandbox", cri.SandboxId(pod_sandbox_id=sandbox), cri.Empty, SLOW)

    def list_sandboxes(self, labels: Mapping[str, str] | None = None) -> tuple[cri.PodSandbox, ...]:
        """All of them, or those that carry all the labels."""
        chosen = cri.PodSandboxFilter(label_selector=labels) if labels else None
        request = cri.ListPodSandboxRequest(filter=chosen)
        return self._ask(f"{_RUNTIME}/ListPodSandbox", request, cri.ListPodSandboxResponse, QUICK).items

    def list_containers(self) -> tuple[cri.Container, ...]:
        answer = self._ask(f"{_RUNTIME}/ListContainers", cri.Empty(), cri.ListContainersResponse, QUICK)
        return answer.containers

    def stop_container(self, container: str, *, grace: int) -> None:
        """Ask it to end, and kill it after `grace` seconds."""
        request = cri.StopContainerRequest(container_id=container, timeout=grace)
        self._ask(f"{_RUNTIME}/StopContainer", request, cri.Empty, SLOW + grace)

    def list_images(self) -> tuple[cri.Image, ...]:
        return self._ask(f"{_IMAGES}/ListImages", cri.Empty(), cri.ListImagesResponse, QUICK).images

    def pull_image(self, reference: str) -> str:
        """The reference of what was pulled, by digest."""
        return self._ask(f"{_IMAGES}/PullImage", _name(reference), cri.PullImageResponse, PULL).image_ref

    def remove_image(self, reference: str) -> None:
        self._ask(f"{_IMAGES}/RemoveImage", _name(reference), cri.Empty, SLOW)

    def _ask(self, method: str, request: Any, answer: type[M], timeout: float) -> M:
        data = self.channel.call(method, encode(request), timeout=timeout)
        try:
            return decode(answer, data)
        except ProtobufError as error:
            name = method.rpartition("/")[2]
            message = f"the container runtime's answer to {name} is not understood: {error}"
            raise failure(Code.RUNTIME_ANSWER, message) from error


def _name(reference: str) -> cri.ImageRequest:
    return cri.ImageRequest(image=cri.ImageSpec(image=reference))
