"""The messages of CRI v1 that are spoken here, with those of their fields that are."""

# ruff: noqa: RUF009 the calls declare fields, as `dataclasses.field` does

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from flexnode.host.cri.protobuf import flag, mapping, message, messages, number, text, texts


class NamespaceMode(IntEnum):
    """Whose namespace a sandbox lives in."""

    POD = 0
    CONTAINER = 1
    NODE = 2


class ProfileType(IntEnum):
    """Which seccomp profile."""

    RUNTIME_DEFAULT = 0
    UNCONFINED = 1
    LOCALHOST = 2


class ContainerState(IntEnum):
    """What a container does."""

    CREATED = 0
    RUNNING = 1
    EXITED = 2
    UNKNOWN = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Empty:
    """Nothing, or nothing that is looked at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VersionResponse:
    runtime_name: str = text(2)
    runtime_version: str = text(3)
    runtime_api_version: str = text(4)


@dataclass(frozen=True, kw_only=True, slots=True)
class RuntimeCondition:
    type: str = text(1)
    status: bool = flag(2)
    reason: str = text(3)
    message: str = text(4)


@dataclass(frozen=True, kw_only=True, slots=True)
class RuntimeStatus:
    conditions: tuple[RuntimeCondition, ...] = messages(1, RuntimeCondition)


@dataclass(frozen=True, kw_only=True, slots=True)
class StatusResponse:
    status: RuntimeStatus | None = message(1, RuntimeStatus)


@dataclass(frozen=True, kw_only=True, slots=True)
class PodSandboxMetadata:
    name: str = text(1)
    uid: str = text(2)
    namespace: str = text(3)
    attempt: int = number(4)


@dataclass(frozen=True, kw_only=True, slots=True)
class NamespaceOption:
    network: int = number(1)
    pid: int = number(2)
    ipc: int = number(3)


@dataclass(frozen=True, kw_only=True, slots=True)
class SecurityProfile:
    profile_type: int = number(1)
    localhost_ref: str = text(2)


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxSecurity:
    """LinuxSandboxSecurityContext."""

    namespace_options: NamespaceOption | None = message(1, NamespaceOption)
    seccomp: SecurityProfile | None = message(9, SecurityProfile)


@dataclass(frozen=True, kw_only=True, slots=True)
class LinuxSandbox:
    """LinuxPodSandboxConfig."""

    cgroup_parent: str = text(1)
    security_context: SandboxSecurity | None = message(2, SandboxSecurity)


@dataclass(frozen=True, kw_only=True, slots=True)
class PodSandboxConfig:
    metadata: PodSandboxMetadata | None = message(1, PodSandboxMetadata)
    hostname: str = text(2)
    log_directory: str = text(3)
    labels: Mapping[str, str] = mapping(6)
    linux: LinuxSandbox | None = message(8, LinuxSandbox)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPodSandboxRequest:
    config: PodSandboxConfig | None = message(1, PodSandboxConfig)


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxId:
    """What stopping and removing a sandbox asks for, and what running one answers."""

    pod_sandbox_id: str = text(1)


@dataclass(frozen=True, kw_only=True, slots=True)
class PodSandboxFilter:
    label_selector: Mapping[str, str] = mapping(3)


@dataclass(frozen=True, kw_only=True, slots=True)
class ListPodSandboxRequest:
    filter: PodSandboxFilter | None = message(1, PodSandboxFilter)


@dataclass(frozen=True, kw_only=True, slots=True)
class PodSandbox:
    id: str = text(1)
    metadata: PodSandboxMetadata | None = message(2, PodSandboxMetadata)
    state: int = number(3)
    labels: Mapping[str, str] = mapping(5)


@dataclass(frozen=True, kw_only=True, slots=True)
class ListPodSandboxResponse:
    items: tuple[PodSandbox, ...] = messages(1, PodSandbox)


@dataclass(frozen=True, kw_only=True, slots=True)
class Container:
    id: str = text(1)
    pod_sandbox_id: str = text(2)
    state: int = number(6)


@dataclass(frozen=True, kw_only=True, slots=True)
class ListContainersResponse:
    containers: tuple[Container, ...] = messages(1, Container)


@dataclass(frozen=True, kw_only=True, slots=True)
class StopContainerRequest:
    container_id: str = text(1)
    timeout: int = number(2)


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageSpec:
    image: str = text(1)


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageRequest:
    """What pulling an image and removing it have in common."""

    image: ImageSpec | None = message(1, ImageSpec)


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    id: str = text(1)
    repo_tags: tuple[str, ...] = texts(2)
    repo_digests: tuple[str, ...] = texts(3)


@dataclass(frozen=True, kw_only=True, slots=True)
class ListImagesResponse:
    images: tuple[Image, ...] = messages(1, Image)


@dataclass(frozen=True, kw_only=True, slots=True)
class PullImageResponse:
    image_ref: str = text(1)
