"""The syntax of Kubernetes: names, labels, taints, quantities, durations, versions, images."""

from __future__ import annotations

from flexnode.config.rules import Wrong
from flexnode.duration import parse_duration

DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
SUBDOMAIN = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
QUALIFIED = rf"({SUBDOMAIN}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?"
LABEL_VALUE = r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
TAINT = rf"{QUALIFIED}(={LABEL_VALUE})?:({'|'.join(EFFECTS)})"
QUANTITY = r"([0-9]+(\.[0-9]+)?|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][-+]?[0-9]{1,2})?"
PERCENTAGE = r"([0-9]{1,2}(\.[0-9]+)?|100)%"
DURATION = r"([0-9]{1,9}(\.[0-9]{1,9})?(ns|us|µs|ms|s|m|h))+"
VERSION = r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}([-+][0-9A-Za-z.+-]+)?"
KUBERNETES_VERSION = rf"[0-9]{{1,9}}\.[0-9]{{1,9}}|{VERSION}"
REGISTRY = r"([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?"
IMAGE = (
    rf"({REGISTRY}/)?[a-z0-9._/-]*[a-z0-9](:[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(@sha256:[0-9a-f]{{64}})?"
)

# What kubelet may set on its own Node among the names that Kubernetes keeps for itself: everybody else's
# registration is refused by NodeRestriction, and kubelet does not even start.
OWN_LABELS = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
    }
)
OWN_NAMESPACES = ("kubelet.kubernetes.io", "node.kubernetes.io")


def check_name_length(name: str) -> Wrong | None:
    """A DNS name as a whole may not be longer than this, however short its parts."""
    return Wrong("is longer than 253 characters") if len(name) > 253 else None


def check_node_label(key: str) -> Wrong | None:
    """Whether kubelet may give its own Node this label."""
    namespace, slash, _ = key.partition("/")
    if not slash:
        return None
    if wrong := check_prefix_length(key):
        return wrong
    if _is_within(namespace, "node-restriction.kubernetes.io"):
        return Wrong(
            "is kept from kubelets: labels under node-restriction.kubernetes.io/ are what a cluster uses to "
            "keep workloads away from nodes that label themselves",
            hint="set it from outside: kubectl label node NAME KEY=VALUE",
        )
    if not (_is_within(namespace, "kubernetes.io") or _is_within(namespace, "k8s.io")):
        return None
    if key in OWN_LABELS or any(_is_within(namespace, own) for own in OWN_NAMESPACES):
        return None
    return Wrong(
        "is kept from kubelets: a node may not label itself under kubernetes.io/ or k8s.io/ "
        "(admission plugin NodeRestriction)",
        hint="use a prefix of your own, node.kubernetes.io/, or kubectl label node NAME KEY=VALUE",
    )


def check_prefix_length(key: str) -> Wrong | None:
    prefix, slash, _ = key.partition("/")
    return Wrong("has a prefix longer than 253 characters") if slash and len(prefix) > 253 else None


def check_taint(text: str) -> Wrong | None:
    """Beyond its pattern: the length of the prefix."""
    return check_prefix_length(split_taint(text)[0])


def split_taint(text: str) -> tuple[str, str, str]:
    """Key, value and effect of KEY[=VALUE]:EFFECT."""
    rest, _, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    return key, value, effect


def check_duration(text: str) -> Wrong | None:
    return None if parse_duration(text) > 0 else Wrong("is no time at all", hint="write e.g. 30s or 15m")


def check_kubernetes(version: str) -> Wrong | None:
    """Whether a node can be made of it at all; which versions there are, the catalog says."""
    major, minor = (int(part) for part in version.split(".")[:2])
    return None if (major, minor) >= (1, 20) else Wrong("is no version of Kubernetes that can be joined")


def check_containerd(version: str) -> Wrong | None:
    if int(version.split(".")[0]) < 2:
        return Wrong("is too old", hint="a node needs containerd 2.0 or newer")
    return None


def _is_within(namespace: str, parent: str) -> bool:
    return namespace == parent or namespace.endswith("." + parent)
