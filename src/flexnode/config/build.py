"""Merged data to the one internal type, `NodeSpec`. The data has been checked: nothing here can fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flexnode.config.names import split_taint
from flexnode.config.references import refer
from flexnode.config.texts import CLIENT_SECRET, PROXY_URL, TOKEN
from flexnode.config.types import SecretText
from flexnode.duration import parse_duration
from flexnode.model.credentials import ArcIdentity, Credentials, ManagedIdentity, ServicePrincipal
from flexnode.model.machine import (
    CniMode,
    CredentialProvider,
    HostSpec,
    MachineSpec,
    Proxy,
    RegistryMirror,
    RuntimeSpec,
    Versions,
)
from flexnode.model.spec import (
    AgentSpec,
    ArtifactsSpec,
    AzureSpec,
    ClusterSpec,
    DrainSpec,
    DriftPolicy,
    Effect,
    IdentitySpec,
    KubeletSpec,
    NodeSpec,
    ServingCertificates,
    Taint,
)
from flexnode.secret import Secret

Data = Mapping[str, Any]


def build_spec(data: Data, environ: Mapping[str, str]) -> NodeSpec:
    """The node that merged data describes. `environ` tells where systemd put credentials."""
    return NodeSpec(
        machine=MachineSpec(
            versions=_versions(data.get("versions", {})),
            runtime=_runtime(data["runtime"]),
            host=_host(data["host"]),
            proxy=_proxy(data.get("proxy", {})),
        ),
        cluster=_cluster(data["cluster"]),
        identity=_identity(data.get("node", {})),
        kubelet=_kubelet(data["kubelet"]),
        azure=_azure(data["azure"]) if "azure" in data else None,
        artifacts=_artifacts(data["artifacts"]),
        agent=_agent(data["agent"]),
        credentials=_credentials(data, environ),
    )


def _versions(data: Data) -> Versions:
    return Versions(
        kubernetes=data.get("kubernetes"),
        containerd=data.get("containerd"),
        runc=data.get("runc"),
        cni_plugins=data.get("cniPlugins"),
    )


def _runtime(data: Data) -> RuntimeSpec:
    registries = data.get("registries", {})
    return RuntimeSpec(
        sandbox_image=data.get("sandboxImage"),
        registries=tuple(
            RegistryMirror(
                registry=name,
                endpoints=tuple(registries[name].get("mirrors", ())),
                ca=_pem(registries[name].get("ca", "")),
            )
            for name in sorted(registries)
        ),
        preload=tuple(data.get("preloadImages", ())),
        cni=CniMode(data["cni"]),
    )


def _host(data: Data) -> HostSpec:
    return HostSpec(
        manage_swap=data["manageSwap"],
        manage_time=data["manageTime"],
        manage_journald=data["manageJournald"],
        manage_updates=data["manageUpdates"],
        manage_firewall=data["manageFirewall"],
        support_tools=data["supportTools"],
        journald_max_use=data["journaldMaxUse"],
        sysctls=dict(data.get("sysctls", {})),
        modules=tuple(data.get("modules", ())),
        ca_certificates=tuple(_pem(text) for text in data.get("caCertificates", ())),
    )


def _proxy(data: Data) -> Proxy:
    """Proxies without a password; those with one are credentials."""
    http, https = data.get("http"), data.get("https")
    return Proxy(
        http=http if isinstance(http, str) else "",
        https=https if isinstance(https, str) else "",
        no_proxy=tuple(data.get("noProxy", ())),
    )


def _cluster(data: Data) -> ClusterSpec:
    return ClusterSpec(
        server=data.get("server", "").rstrip("/"),
        ca=_pem(data.get("ca", "")),
        ca_hashes=tuple(data.get("caHashes", ())),
        dns_service_ip=data.get("dnsServiceIP"),
        domain=data["domain"],
        service_cidr=data.get("serviceCIDR"),
        pod_cidr=data.get("podCIDR"),
    )


def _identity(data: Data) -> IdentitySpec:
    return IdentitySpec(
        name=data.get("name", ""),
        labels=dict(data.get("labels", {})),
        annotations=dict(data.get("annotations", {})),
        taints=tuple(
            Taint(key=key, value=value, effect=Effect(effect))
            for key, value, effect in map(split_taint, data.get("taints", ()))
        ),
        ip=data.get("ip"),
        provider_id=data.get("providerID"),
        region=data.get("region"),
        zone=data.get("zone"),
    )


def _kubelet(data: Data) -> KubeletSpec:
    return KubeletSpec(
        max_pods=data.get("maxPods"),
        verbosity=data["verbosity"],
        image_gc_high_percent=data["imageGCHighThresholdPercent"],
        image_gc_low_percent=data["imageGCLowThresholdPercent"],
        kube_reserved=data.get("kubeReserved"),
        system_reserved=dict(data.get("systemReserved", {})),
        eviction_hard=data.get("evictionHard"),
        pod_pids_limit=data.get("podPidsLimit"),
        shutdown_grace_period=data["shutdownGracePeriod"],
        shutdown_grace_period_critical_pods=data["shutdownGracePeriodCriticalPods"],
        serialize_image_pulls=data["serializeImagePulls"],
        max_parallel_image_pulls=data.get("maxParallelImagePulls"),
        container_log_max_size=data["containerLogMaxSize"],
        container_log_max_files=data["containerLogMaxFiles"],
        protect_kernel_defaults=data["protectKernelDefaults"],
        feature_gates=dict(data.get("featureGates", {})),
        serving_certificates=ServingCertificates(data["servingCertificates"]),
        credential_providers=tuple(_provider(each) for each in data.get("credentialProviders", ())),
    )


def _provider(data: Data) -> CredentialProvider:
    said = {"api_version": data.get("apiVersion"), "cache_duration": data.get("cacheDuration")}
    return CredentialProvider(
        name=data["name"],
        binary=data["binary"],
        match_images=tuple(data["matchImages"]),
        args=tuple(data.get("args", ())),
        env=dict(data.get("env", {})),
        **{name: value for name, value in said.items() if value is not None},
    )


def _azure(data: Data) -> AzureSpec:
    cluster, arc = data.get("cluster", {}), data["arc"]
    return AzureSpec(
        cloud=data["cloud"],
        subscription_id=data.get("subscriptionId", ""),
        tenant_id=data.get("tenantId", ""),
        resource_manager_endpoint=data.get("resourceManagerEndpoint", "").rstrip("/"),
        cluster_resource_id=cluster.get("resourceId", ""),
        cluster_location=cluster.get("location", ""),
        agent_pool_name=cluster.get("agentPool", ""),
        arc_machine_name=arc.get("machineName", ""),
        arc_resource_group=arc.get("resourceGroup", ""),
        arc_location=arc.get("location", ""),
        arc_tags=dict(arc.get("tags", {})),
        arc_auto_role_assignment=arc["autoRoleAssignment"],
    )


def _artifacts(data: Data) -> ArtifactsSpec:
    return ArtifactsSpec(
        sources=tuple(each.reveal() if isinstance(each, Secret) else each for each in data["sources"]),
        ca_bundle=data.get("caBundle", ""),
        overlays=tuple(data.get("overlays", ())),
    )


def _agent(data: Data) -> AgentSpec:
    return AgentSpec(
        log_level=data["logLevel"],
        log_directory=data["logDirectory"],
        drift=DriftPolicy(data["drift"]),
        full_check_interval=parse_duration(data["fullCheckInterval"]),
        bootstrap_timeout=parse_duration(data["bootstrapTimeout"]),
        verify_timeout=parse_duration(data["verifyTimeout"]),
        drain=DrainSpec(
            timeout=parse_duration(data["drain"]["timeout"]),
            delete_empty_dir_data=data["drain"]["deleteEmptyDirData"],
            evict_unmanaged=data["drain"]["evictUnmanaged"],
        ),
    )


def _credentials(data: Data, environ: Mapping[str, str]) -> Credentials:
    def secret(value: Any, type_: SecretText) -> Secret | None:
        if isinstance(value, Mapping):
            return refer(value, type_.inner, environ)
        return value if isinstance(value, Secret) else None

    auth, proxy = data["auth"], data.get("proxy", {})
    azure: ServicePrincipal | ManagedIdentity | ArcIdentity | None = None
    if "servicePrincipal" in auth:
        principal = auth["servicePrincipal"]
        azure = ServicePrincipal(
            tenant_id=principal.get("tenantId") or data["azure"]["tenantId"],
            client_id=principal["clientId"],
            client_secret=secret(principal["clientSecret"], CLIENT_SECRET) or Secret(""),
        )
    elif "managedIdentity" in auth:
        azure = ManagedIdentity(client_id=auth["managedIdentity"].get("clientId", ""))
    elif auth["arc"]:
        azure = ArcIdentity()
    return Credentials(
        bootstrap_token=secret(auth.get("bootstrapToken"), TOKEN),
        azure=azure,
        http_proxy=secret(proxy.get("http"), PROXY_URL),
        https_proxy=secret(proxy.get("https"), PROXY_URL),
    )


def _pem(text: str) -> str:
    """PEM text that ends with its line, so that texts can be put one after another."""
    return text if not text or text.endswith("\n") else text + "\n"
