"""kubelet's settings."""

from __future__ import annotations

from flexnode.config import texts
from flexnode.config.tree import Effect, Section, Setting
from flexnode.config.types import Choice, Flag, ListOf, MapOf, Whole

_RESERVED = MapOf(
    key=Choice(options=("cpu", "memory", "ephemeral-storage", "pid")),
    value=texts.QUANTITY,
    words="a map from resource to amount",
)
_SIGNALS = MapOf(
    key=Choice(
        options=(
            "memory.available",
            "nodefs.available",
            "nodefs.inodesFree",
            "imagefs.available",
            "imagefs.inodesFree",
            "containerfs.available",
            "containerfs.inodesFree",
            "pid.available",
        )
    ),
    value=texts.THRESHOLD,
    words="a map from signal to amount or percentage",
)
_PROVIDER = Section(
    about="A program that kubelet asks for the credentials of image registries.",
    required=("name", "binary", "matchImages"),
    fields={
        "name": Setting(type=texts.PROGRAM, about="Its name, unique among them.", effect=Effect.KUBELET),
        "binary": Setting(
            type=texts.PATH, about="The program on the machine; it is not installed.", effect=Effect.KUBELET
        ),
        "matchImages": Setting(
            type=ListOf(item=texts.IMAGE_PATTERN, least=1),
            about="The images it is asked for: HOST[:PORT][/PATH], where * stands for a part of the host.",
            effect=Effect.KUBELET,
        ),
        "apiVersion": Setting(
            type=Choice(
                options=(
                    "credentialprovider.kubelet.k8s.io/v1",
                    "credentialprovider.kubelet.k8s.io/v1beta1",
                    "credentialprovider.kubelet.k8s.io/v1alpha1",
                )
            ),
            about="The version of the protocol that it speaks.",
            effect=Effect.KUBELET,
            default="credentialprovider.kubelet.k8s.io/v1",
        ),
        "cacheDuration": Setting(
            type=texts.DURATION,
            about="How long an answer is kept that does not say so itself.",
            effect=Effect.KUBELET,
            default="10m0s",
        ),
        "args": Setting(
            type=ListOf(item=texts.LINE), about="Its arguments.", effect=Effect.KUBELET, default=[]
        ),
        "env": Setting(
            type=MapOf(key=texts.VARIABLE, value=texts.LINE, words="a map from variable to text"),
            about="Its environment, besides kubelet's. Not a place for secrets.",
            effect=Effect.KUBELET,
            unset="kubelet's environment",
        ),
    },
)

KUBELET = Section(
    about="kubelet's settings.",
    fields={
        "maxPods": Setting(
            type=Whole(least=1, most=1024),
            about="How many pods the node takes.",
            effect=Effect.KUBELET,
            unset="110, or less where the cluster's pod network is smaller",
        ),
        "verbosity": Setting(
            type=Whole(least=0, most=10),
            about="How much kubelet logs.",
            effect=Effect.KUBELET,
            default=2,
        ),
        "imageGCHighThresholdPercent": Setting(
            type=Whole(least=1, most=100),
            about="How full the disk may be before unused images are deleted.",
            effect=Effect.KUBELET,
            default=85,
        ),
        "imageGCLowThresholdPercent": Setting(
            type=Whole(least=0, most=99),
            about="How full the disk may be when deleting unused images stops.",
            effect=Effect.KUBELET,
            default=80,
        ),
        "kubeReserved": Setting(
            type=_RESERVED,
            about="What the node's own daemons keep for themselves.",
            effect=Effect.KUBELET,
            unset="computed from the size of the machine, as AKS does",
        ),
        "systemReserved": Setting(
            type=_RESERVED,
            about="What the rest of the operating system keeps for itself.",
            effect=Effect.KUBELET,
            unset="nothing",
        ),
        "evictionHard": Setting(
            type=_SIGNALS,
            about="Thresholds below which kubelet evicts pods; each replaces kubelet's own for its signal.",
            effect=Effect.KUBELET,
            unset="kubelet's own thresholds",
        ),
        "podPidsLimit": Setting(
            type=Whole(least=1, most=4194304, besides=(-1,)),
            about="How many processes a pod may have; -1 for no limit.",
            effect=Effect.KUBELET,
            unset="no limit of kubelet's",
        ),
        "shutdownGracePeriod": Setting(
            type=texts.DURATION,
            about="How long a shutdown of the machine waits for pods to end.",
            effect=Effect.KUBELET,
            default="30s",
        ),
        "shutdownGracePeriodCriticalPods": Setting(
            type=texts.DURATION,
            about="The part of shutdownGracePeriod that is kept for critical pods.",
            effect=Effect.KUBELET,
            default="10s",
        ),
        "serializeImagePulls": Setting(
            type=Flag(),
            about="Whether images are pulled one at a time.",
            effect=Effect.KUBELET,
            default=False,
        ),
        "maxParallelImagePulls": Setting(
            type=Whole(least=1, most=100),
            about="How many images are pulled at a time, where they are not pulled one at a time.",
            effect=Effect.KUBELET,
            unset="no limit",
        ),
        "containerLogMaxSize": Setting(
            type=texts.QUANTITY,
            about="The size at which a container's log is rotated.",
            effect=Effect.KUBELET,
            default="50Mi",
        ),
        "containerLogMaxFiles": Setting(
            type=Whole(least=2, most=100),
            about="How many log files of a container are kept.",
            effect=Effect.KUBELET,
            default=5,
        ),
        "protectKernelDefaults": Setting(
            type=Flag(),
            about="Whether kubelet refuses to run with kernel settings other than those it needs.",
            effect=Effect.KUBELET,
            default=True,
        ),
        "featureGates": Setting(
            type=MapOf(key=texts.FEATURE, value=Flag(), words="a map from feature to true or false"),
            about="Feature gates of kubelet.",
            effect=Effect.KUBELET,
            unset="kubelet's own",
        ),
        "servingCertificates": Setting(
            type=Choice(options=("auto", "on", "off")),
            about="Whether kubelet asks the cluster for its serving certificate: auto is on where the "
            "cluster shows that somebody approves it when the machine joins.",
            effect=Effect.KUBELET,
            default="auto",
        ),
        "credentialProviders": Setting(
            type=ListOf(item=_PROVIDER),
            about="Programs that kubelet asks for the credentials of image registries.",
            effect=Effect.KUBELET,
            unset="none",
        ),
    },
)
