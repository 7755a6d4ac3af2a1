"""What the user wants of one node: the resolved configuration, whatever document it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from flexnode.model.credentials import Credentials
from flexnode.model.machine import CredentialProvider, MachineSpec


class Effect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class ServingCertificates(StrEnum):
    """Whether kubelet asks the cluster for its serving certificate."""

    AUTO = "auto"  # when the cluster has somebody who approves them
    ON = "on"
    OFF = "off"


class DriftPolicy(StrEnum):
    """What the daemon does about a managed thing that somebody changed."""

    REPAIR = "repair"
    REPORT = "report"


@dataclass(frozen=True, kw_only=True, slots=True)
class Taint:
    """A taint that kubelet registers the Node with."""

    key: str
    effect: Effect
    value: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterSpec:
    """The cluster to join. The CA is here, or is found through a hash of it or a signed cluster-info."""

    server: str = ""  # https://HOST[:PORT]
    ca: str = ""  # PEM text
    ca_hashes: tuple[str, ...] = ()  # sha256:<hex> of the CA's public key
    dns_service_ip: str | None = None  # None: asked of the cluster
    domain: str = "cluster.local"
    service_cidr: str | None = None
    pod_cidr: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class IdentitySpec:
    """Who the node is in its cluster."""

    name: str = ""  # empty: the machine's host name
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    ip: str | None = None
    provider_id: str | None = None
    region: str | None = None
    zone: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class KubeletSpec:
    """kubelet's settings. None: computed from the machine, or kubelet's own default."""

    max_pods: int | None = None
    verbosity: int = 2
    image_gc_high_percent: int = 85
    image_gc_low_percent: int = 80
    kube_reserved: Mapping[str, str] | None = None  # None: by the size of the machine
    system_reserved: Mapping[str, str] = field(default_factory=dict)
    eviction_hard: Mapping[str, str] | None = None
    pod_pids_limit: int | None = None
    shutdown_grace_period: str = "30s"
    shutdown_grace_period_critical_pods: str = "10s"
    serialize_image_pulls: bool = False
    max_parallel_image_pulls: int | None = None
    container_log_max_size: str = "50Mi"
    container_log_max_files: int = 5
    protect_kernel_defaults: bool = True
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    serving_certificates: ServingCertificates = ServingCertificates.AUTO
    credential_providers: tuple[CredentialProvider, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class AzureSpec:
    """Which AKS cluster, and through which part of Azure. How to log in there is in Credentials."""

    cloud: str = "AzurePublicCloud"
    subscription_id: str = ""
    tenant_id: str = ""
    resource_manager_endpoint: str = ""
    cluster_resource_id: str = ""
    cluster_location: str = ""
    agent_pool_name: str = ""
    arc_machine_name: str = ""
    arc_resource_group: str = ""
    arc_location: str = ""
    arc_tags: Mapping[str, str] = field(default_factory=dict)
    arc_auto_role_assignment: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class ArtifactsSpec:
    """Where files come from: mirrors, directories, bundles, registries, or `vendor`; in order."""

    sources: tuple[str, ...] = ("vendor",)
    ca_bundle: str = ""  # a PEM file on the machine, besides the system's authorities
    overlays: tuple[str, ...] = ()  # overlay catalogs, files on the machine


@dataclass(frozen=True, kw_only=True, slots=True)
class DrainSpec:
    """How a node is emptied before a change that its pods cannot stay for."""

    timeout: float = 300.0
    delete_empty_dir_data: bool = False
    evict_unmanaged: bool = False  # pods that nothing brings back elsewhere


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSpec:
    """The agent itself. Durations in seconds."""

    log_level: str = "info"
    log_directory: str = "/var/log/aks-flex-node"
    drift: DriftPolicy = DriftPolicy.REPAIR
    full_check_interval: float = 3600.0
    bootstrap_timeout: float = 900.0
    verify_timeout: float = 300.0
    drain: DrainSpec = field(default_factory=DrainSpec)


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeSpec:
    """One node, whole."""

    machine: MachineSpec = field(default_factory=MachineSpec)
    cluster: ClusterSpec = field(default_factory=ClusterSpec)
    identity: IdentitySpec = field(default_factory=IdentitySpec)
    kubelet: KubeletSpec = field(default_factory=KubeletSpec)
    azure: AzureSpec | None = None
    artifacts: ArtifactsSpec = field(default_factory=ArtifactsSpec)
    agent: AgentSpec = field(default_factory=AgentSpec)
    credentials: Credentials = field(default_factory=Credentials)
