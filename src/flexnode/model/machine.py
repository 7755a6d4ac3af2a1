"""What a machine shall be, whichever cluster it joins: what may live in an image. No credentials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class CniMode(StrEnum):
    """Who configures the pod network."""

    BRIDGE = "bridge"  # the product: a bridge with the pod CIDR that the cluster allocated
    NONE = "none"  # the cluster brings its own


@dataclass(frozen=True, kw_only=True, slots=True)
class Versions:
    """Component versions. None: the one that goes with this version of Kubernetes."""

    kubernetes: str | None = None  # a minor version, a full one, or None for the default release set
    containerd: str | None = None
    runc: str | None = None
    cni_plugins: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RegistryMirror:
    """Where images of one registry are pulled from, in order, before the registry itself."""

    registry: str  # host[:port], or `_default` for every registry without an entry of its own
    endpoints: tuple[str, ...]  # URLs; http:// is allowed for a mirror inside one's own network
    ca: str = ""  # PEM text of the authority that the endpoints' certificates come from


@dataclass(frozen=True, kw_only=True, slots=True)
class Proxy:
    """How programs on the machine reach the outside. A password in a URL is a credential: see Credentials."""

    http: str = ""
    https: str = ""
    no_proxy: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class CredentialProvider:
    """One of kubelet's image credential providers: a program, and for which images it is asked."""

    name: str
    binary: str  # an absolute path on the machine; the product does not install it
    match_images: tuple[str, ...]
    api_version: str = "credentialprovider.kubelet.k8s.io/v1"
    cache_duration: str = "10m0s"
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class RuntimeSpec:
    """containerd, and what it runs pods with."""

    sandbox_image: str | None = None  # None: the catalog's pause image
    registries: tuple[RegistryMirror, ...] = ()
    preload: tuple[str, ...] = ()  # references of images that shall be there before the first pod
    cni: CniMode = CniMode.BRIDGE


@dataclass(frozen=True, kw_only=True, slots=True)
class HostSpec:
    """The operating system under the node. Each part can be left to the user by switching it off."""

    manage_swap: bool = True
    manage_time: bool = True
    manage_journald: bool = True
    manage_updates: bool = True  # needrestart and unattended upgrades leave node services alone
    manage_firewall: bool = True  # forwarding and masquerade, in a table of our own
    support_tools: bool = True
    journald_max_use: str = "512M"
    sysctls: Mapping[str, str] = field(default_factory=dict)  # besides, and over, the baseline's
    modules: tuple[str, ...] = ()  # besides the baseline's
    ca_certificates: tuple[str, ...] = ()  # PEM texts that the whole machine shall trust


@dataclass(frozen=True, kw_only=True, slots=True)
class MachineSpec:
    """Everything about a machine that needs neither a cluster nor a credential."""

    versions: Versions = field(default_factory=Versions)
    runtime: RuntimeSpec = field(default_factory=RuntimeSpec)
    host: HostSpec = field(default_factory=HostSpec)
    proxy: Proxy = field(default_factory=Proxy)
