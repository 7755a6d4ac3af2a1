"""Nodes to compose: the cases that golden files are kept of, and what they are made from."""

from __future__ import annotations

from dataclasses import replace

from flexnode.components.inputs import Parts
from flexnode.components.joining import NodeInputs
from flexnode.components.node import compose_node
from flexnode.generation.generation import Generation
from flexnode.model import Arch, Artifact, Flavour, Format, Member
from flexnode.model.credentials import Credentials
from flexnode.model.facts import Facts
from flexnode.model.machine import (
    CredentialProvider,
    HostSpec,
    MachineSpec,
    Proxy,
    RegistryMirror,
    RuntimeSpec,
)
from flexnode.model.spec import (
    ClusterSpec,
    Effect,
    IdentitySpec,
    KubeletSpec,
    NodeSpec,
    ServingCertificates,
    Taint,
)
from flexnode.resources.state import File, Secret, Text
from flexnode.secret import Secret as Value

GIB = 1 << 30
CA = "-----BEGIN CERTIFICATE-----\nY2x1c3Rlcg==\n-----END CERTIFICATE-----\n"
COMPANY_CA = "-----BEGIN CERTIFICATE-----\nY29tcGFueQ==\n-----END CERTIFICATE-----\n"
MIRROR_CA = "-----BEGIN CERTIFICATE-----\nbWlycm9y\n-----END CERTIFICATE-----\n"
TOKEN = "abcdef.0123456789abcdef"
PROXY_WITH_PASSWORD = "http://node:pa%24%24word@proxy.example:3128"
PAUSE = "registry.k8s.io/pause:9.9"

MEMBERS = {
    "containerd": ("bin/containerd", "bin/containerd-shim-runc-v2", "bin/ctr"),
    "cni-plugins": ("bridge", "host-local", "loopback", "portmap"),
    "crictl": ("crictl",),
}


def artifact(component: str, arch: Arch = Arch.AMD64) -> Artifact:
    """A file whose digest tells nothing but which component and architecture it is of."""
    position = sorted((*MEMBERS, "kubectl", "kubelet", "pause", "runc")).index(component) + 1
    members = MEMBERS.get(component, ())
    packed = Format.OCI_ARCHIVE if component == "pause" else Format.TAR_GZ if members else Format.FILE
    return Artifact(
        component=component,
        version="9.9.0",
        arch=arch,
        flavour=Flavour.RELEASE,
        format=packed,
        sha256=f"{position}{'a' if arch is Arch.AMD64 else 'b'}" * 32,
        members=tuple(Member(path=path) for path in members),
    )


def parts(arch: Arch = Arch.AMD64) -> Parts:
    names = (*MEMBERS, "kubectl", "kubelet", "pause", "runc")
    return Parts(
        kubernetes="9.9.0",
        artifacts={name: artifact(name, arch) for name in names},
        packages=("conntrack", "curl", "iptables", "nftables", "socat"),
        pause_image=PAUSE,
    )


FACTS = Facts(
    arch=Arch.AMD64,
    os_id="debian",
    os_version="12",
    codename="bookworm",
    cpus=2,
    memory=4 * GIB,
    hostname="Node-1",
    kernel=(6, 1),
)

SPEC = NodeSpec(
    cluster=ClusterSpec(server="https://192.0.2.10:6443", ca=CA, dns_service_ip="10.96.0.10"),
    credentials=Credentials(bootstrap_token=Value(TOKEN)),
)

DEFAULT = NodeInputs(spec=SPEC, parts=parts(), facts=FACTS)

FULL_SPEC = NodeSpec(
    machine=MachineSpec(
        runtime=RuntimeSpec(
            registries=(
                RegistryMirror(
                    registry="docker.io",
                    endpoints=("https://mirror.example/v2/docker", "http://10.0.0.5:5000"),
                    ca=MIRROR_CA,
                ),
                RegistryMirror(registry="registry.example", endpoints=("https://registry.example:5000",)),
                RegistryMirror(registry="_default", endpoints=("https://all.example",)),
            ),
            preload=("busybox", "registry.example/team/app:1.0"),
        ),
        host=HostSpec(
            journald_max_use="1G",
            sysctls={"vm.max_map_count": "262144", "kernel.panic": "30"},
            modules=("nf_conntrack", "overlay"),
            ca_certificates=(COMPANY_CA,),
        ),
        proxy=Proxy(
            http="http://proxy.example:3128",
            https="http://proxy.example:3128",
            no_proxy=("192.0.2.0/24", "mirror.example"),
        ),
    ),
    cluster=ClusterSpec(
        server="https://cluster.example",
        ca=CA,
        dns_service_ip="10.0.0.10",
        domain="cluster.internal",
        service_cidr="10.0.0.0/16, fd00:1::/112",
        pod_cidr="10.244.0.0/16,fd00:2::/48",
    ),
    identity=IdentitySpec(
        name="edge-7",
        labels={"example.com/rack": "7", "disk": "ssd"},
        taints=(
            Taint(key="example.com/gpu", effect=Effect.NO_SCHEDULE, value="a100"),
            Taint(key="example.com/edge", effect=Effect.NO_EXECUTE),
        ),
        ip="192.0.2.7",
        provider_id="flexnode://edge-7",
        region="westeurope",
        zone="hall-2",
    ),
    kubelet=KubeletSpec(
        max_pods=60,
        verbosity=4,
        image_gc_high_percent=75,
        image_gc_low_percent=60,
        kube_reserved={"cpu": "200m", "memory": "1Gi"},
        system_reserved={"memory": "256Mi"},
        eviction_hard={"memory.available": "500Mi", "pid.available": "2000"},
        pod_pids_limit=4096,
        shutdown_grace_period="1m30s",
        shutdown_grace_period_critical_pods="20s",
        max_parallel_image_pulls=4,
        container_log_max_size="10Mi",
        container_log_max_files=3,
        protect_kernel_defaults=False,
        feature_gates={"Beta": True, "Alpha": False},
        serving_certificates=ServingCertificates.ON,
        credential_providers=(
            CredentialProvider(
                name="acr-credential-provider",
                binary="/opt/acr/bin/provider",
                match_images=("*.azurecr.io",),
                args=("--config=/etc/acr.json",),
                env={"REGION": "west", "LEVEL": "info"},
            ),
        ),
    ),
    credentials=Credentials(
        bootstrap_token=Value(TOKEN),
        http_proxy=Value(PROXY_WITH_PASSWORD),
        https_proxy=Value(PROXY_WITH_PASSWORD),
    ),
)

CASES = {
    "default": DEFAULT,
    "full": replace(
        DEFAULT, spec=FULL_SPEC, facts=replace(FACTS, cpus=64, memory=256 * GIB, time_daemon="chrony.service")
    ),
    "debian-13": replace(
        DEFAULT,
        facts=replace(FACTS, os_version="13", codename="trixie", kernel=(6, 12), resolved=False),
    ),
    "arm64": replace(
        DEFAULT, parts=parts(Arch.ARM64), facts=replace(FACTS, arch=Arch.ARM64, cpus=4, memory=8 * GIB)
    ),
}
"""By the names of the folders that their golden files lie in."""


def with_spec(spec: NodeSpec) -> NodeInputs:
    return replace(DEFAULT, spec=spec)


def with_machine(machine: MachineSpec) -> NodeInputs:
    return with_spec(replace(SPEC, machine=machine))


def texts(generation: Generation) -> dict[str, str]:
    """What stands in every file whose content the generation itself holds, by path."""
    found = {}
    for each in generation.resources:
        match each.want:
            case File(content=Text(text=text)) | File(content=Secret(template=text)):
                found[each.name] = text
    return found


def text_of(inputs: NodeInputs, path: str) -> str:
    return texts(compose_node(inputs))[path]
