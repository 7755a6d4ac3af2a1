"""The types of text that settings are made of, each with its pattern, its rules and good examples."""

from __future__ import annotations

from flexnode.config import addresses, certificates, names
from flexnode.config.types import LINES, MapOf, SecretText, Text

UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
CLUSTER_ID = (
    rf"/[sS]ubscriptions/{UUID}/[rR]esource[gG]roups/[A-Za-z0-9_.()-]{{1,90}}/[pP]roviders/"
    r"[mM]icrosoft\.[cC]ontainer[sS]ervice/[mM]anaged[cC]lusters/[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
)

SUBDOMAIN = Text(
    words="a DNS name in lower case",
    pattern=names.SUBDOMAIN,
    rules=(names.check_name_length,),
    hint="use lower-case letters, digits, - and .; begin and end each part with a letter or digit",
    examples=("edge-1", "edge-1.example.com"),
)
HTTPS_SERVER = Text(
    words="the URL of an API server",
    rules=(addresses.check_server,),
    examples=("https://api.example.com:6443", "https://10.0.0.5:6443"),
)
HTTPS_URL = Text(
    words="an https URL", rules=(addresses.url_rule("https"),), examples=("https://management.example.com",)
)
MIRROR_URL = Text(
    words="an http or https URL",
    rules=(addresses.url_rule("http", "https"),),
    examples=("https://mirror.example.com/v2/docker.io",),
)
PROXY_URL = SecretText(
    inner=Text(
        words="the URL of a proxy",
        rules=(addresses.check_proxy,),
        examples=("http://proxy.example.com:3128",),
        login=True,
    )
)
SOURCE = Text(
    words="a place of artifacts",
    rules=(addresses.check_source,),
    examples=("https://mirror.example.com/flexnode", "/var/lib/mirror", "vendor"),
    login=True,
)
NO_PROXY = Text(
    words="an entry of NO_PROXY",
    rules=(addresses.check_no_proxy,),
    examples=("10.0.0.0/8", ".example.com", "registry.local:5000"),
)
CERTIFICATES = Text(
    words="certificates in PEM",
    pattern=LINES,
    rules=(certificates.check_certificates,),
    most=1 << 19,  # a bundle of all authorities that a distribution trusts has about half of that
)
CA_HASH = Text(
    words="the hash of a CA's public key",
    pattern=r"sha256:[0-9a-f]{64}",
    hint="write sha256: and 64 lower-case hex digits, as `kubeadm token create --print-join-command` does",
    examples=("sha256:" + "0" * 63 + "1",),
)
ADDRESS = Text(words="an IP address", rules=(addresses.check_address,), examples=("10.0.0.10", "fd00::a"))
NETWORK = Text(
    words="a network in CIDR notation",
    rules=(addresses.check_network,),
    examples=("10.244.0.0/16", "10.244.0.0/16,fd00:10:244::/56"),
)
PATH = Text(
    words="an absolute path", pattern=addresses.ABSOLUTE_PATH, examples=("/etc/ssl/certs/corporate.pem",)
)

LABELS = MapOf(
    key=Text(
        words="a label's key: [PREFIX/]NAME",
        pattern=names.QUALIFIED,
        rules=(names.check_node_label,),
        hint="the name has at most 63 letters, digits, - _ . and begins and ends with a letter or digit",
        examples=("example.com/rack", "disk"),
    ),
    value=Text(
        words="a label's value",
        pattern=names.LABEL_VALUE,
        hint="it has at most 63 letters, digits, - _ . and begins and ends with a letter or digit",
        examples=("r17", "ssd"),
        blank=True,
    ),
    words="a map from key to value",
)
ANNOTATIONS = MapOf(
    key=Text(
        words="an annotation's key: [PREFIX/]NAME",
        pattern=names.QUALIFIED,
        rules=(names.check_prefix_length,),
        hint="the name has at most 63 letters, digits, - _ . and begins and ends with a letter or digit",
        examples=("example.com/contact",),
    ),
    value=Text(
        words="text",
        pattern=LINES,
        examples=("ops@example.com",),
        blank=True,
        most=1 << 18,  # what Kubernetes takes of all of them together
    ),
    words="a map from key to text",
)
TAINT = Text(
    words="a taint: KEY[=VALUE]:EFFECT, where the effect is NoSchedule, PreferNoSchedule or NoExecute",
    pattern=names.TAINT,
    rules=(names.check_taint,),
    examples=("example.com/dedicated=gpu:NoSchedule", "edge:NoExecute"),
)
QUANTITY = Text(
    words="an amount",
    pattern=names.QUANTITY,
    hint="write e.g. 500m, 2, 512Mi or 10Gi",
    examples=("100m", "1", "512Mi", "1.5Gi"),
)
THRESHOLD = Text(
    words="an amount or a percentage",
    pattern=f"{names.QUANTITY}|{names.PERCENTAGE}",
    hint="write e.g. 100Mi or 10%",
    examples=("100Mi", "10%"),
)
SIZE = Text(
    words="a size that journald knows",
    pattern=r"[1-9][0-9]{0,11}[KMGT]?",
    hint="write e.g. 512M",
    examples=("512M", "1G"),
)
DURATION = Text(
    words="a duration",
    pattern=names.DURATION,
    rules=(names.check_duration,),
    hint="write a number with its unit, e.g. 30s, 15m or 1h30m",
    examples=("30s", "15m", "1h30m"),
)
KUBERNETES_VERSION = Text(
    words="a version of Kubernetes",
    pattern=names.KUBERNETES_VERSION,
    rules=(names.check_kubernetes,),
    hint="write 1.NN for its newest known patch, or 1.NN.PP; without a leading v",
    examples=("1.30", "1.30.5"),
)
VERSION = Text(
    words="a version",
    pattern=names.VERSION,
    hint="write all three numbers, without a leading v",
    examples=("2.9.0", "2.9.0-rc.1"),
)
CONTAINERD_VERSION = Text(
    words=VERSION.words,
    pattern=VERSION.pattern,
    rules=(names.check_containerd,),
    hint=VERSION.hint,
    examples=VERSION.examples,
)
IMAGE = Text(
    words="the reference of an image",
    pattern=names.IMAGE,
    hint="write HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:DIGEST",
    examples=("registry.example.com/pause:3", "registry.example.com/team/app@sha256:" + "0" * 64),
)
IMAGE_PATTERN = Text(
    words="a pattern of images: HOST[:PORT][/PATH]",
    pattern=r"[A-Za-z0-9*]([A-Za-z0-9.*-]*[A-Za-z0-9*])?(:[0-9]{1,5})?(/[A-Za-z0-9._/-]*)?",
    hint="leave out the scheme and the tag",
    examples=("*.registry.example.com", "registry.local:5000/team"),
)
VARIABLE = Text(words="the name of a variable", pattern=r"[A-Za-z_][A-Za-z0-9_]*", examples=("AWS_PROFILE",))
REGISTRY = Text(
    words="a registry: HOST[:PORT], or _default",
    pattern=f"{names.REGISTRY}|_default",
    hint="leave out the scheme and the path",
    examples=("docker.io", "registry.local:5000", "_default"),
)
SYSCTL_KEY = Text(
    words="the name of a sysctl",
    pattern=r"[a-z0-9_-]+([./][A-Za-z0-9_:-]+)+",
    hint="write e.g. net.core.somaxconn",
    examples=("net.core.somaxconn", "vm.max_map_count"),
)
MODULE = Text(
    words="the name of a kernel module",
    pattern=r"[A-Za-z0-9_-]{1,55}",
    hint="leave out the path and .ko",
    examples=("nf_conntrack", "dm-crypt"),
)
PROGRAM = Text(
    words="the name of a program",
    pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}",
    hint="leave out the path",
    examples=("acr-credential-provider",),
)
FEATURE = Text(
    words="the name of a feature gate", pattern=r"[A-Z][A-Za-z0-9]*", examples=("KubeletCrashLoopBackOffMax",)
)
PROVIDER_ID = Text(
    words="a provider id: SCHEME://ID",
    pattern=r"[a-z][a-z0-9.+-]*://[^\x00-\x20\x7f]+",
    examples=("flexnode://edge-1",),
)
LABEL_VALUE = Text(
    words="a label's value",
    pattern=names.LABEL_VALUE,
    hint="it becomes a label: at most 63 letters, digits, - _ .",
    examples=("westeurope", "rack-17"),
)
TOKEN = SecretText(
    inner=Text(
        words="a bootstrap token",
        pattern=r"[a-z0-9]{6}\.[a-z0-9]{16}",
        hint="it has the form [a-z0-9]{6}.[a-z0-9]{16}; make one with `aks-flex-node cluster token`",
        examples=("abcdef.0123456789abcdef",),
    )
)
CLIENT_SECRET = SecretText(inner=Text(words="a client secret", examples=("an-example-of-a-secret",)))
GUID = Text(
    words="a GUID",
    pattern=UUID,
    hint="write 8-4-4-4-12 hex digits",
    examples=("00000000-0000-0000-0000-000000000001",),
)
CLUSTER_RESOURCE_ID = Text(
    words="the resource id of an AKS cluster",
    pattern=CLUSTER_ID,
    hint="copy it from `az aks show --query id`: /subscriptions/…/resourceGroups/…/providers/"
    "Microsoft.ContainerService/managedClusters/NAME",
    examples=(
        "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/edge/providers/"
        "Microsoft.ContainerService/managedClusters/factory",
    ),
)
CLOUD = Text(
    words="the name of an Azure cloud",
    pattern=r"[A-Za-z][A-Za-z0-9]{0,63}",
    examples=("AzurePublicCloud", "AzureUSGovernment", "AzureChinaCloud"),
)
LOCATION = Text(
    words="an Azure region",
    pattern=r"[a-z][a-z0-9-]{0,63}",
    hint="write its name, not its title: westeurope",
    examples=("westeurope",),
)
RESOURCE_GROUP = Text(
    words="the name of a resource group",
    pattern=r"[A-Za-z0-9_.()-]{0,89}[A-Za-z0-9_()-]",
    examples=("edge-machines",),
)
MACHINE_NAME = Text(
    words="the name of an Arc machine",
    pattern=r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,52}[A-Za-z0-9_])?",
    hint="it has at most 54 letters, digits, - _ .",
    examples=("edge-1",),
)
AGENT_POOL = Text(
    words="the name of an agent pool",
    pattern=r"[a-z][a-z0-9]{0,11}",
    hint="it has at most 12 lower-case letters and digits",
    examples=("flex",),
)
TAGS = MapOf(
    key=Text(words="the name of a tag", pattern=r"[^\x00-\x1f\x7f<>%&\\?/=,]{1,512}", examples=("team",)),
    value=Text(
        words="text without commas", pattern=r"[^\x00-\x1f\x7f,]{0,256}", examples=("factory",), blank=True
    ),
    words="a map from name to text",
)
LINE = Text(examples=("some text",))
SYSCTL_VALUE = Text(words="a sysctl's value", hint='write it in quotes: "1"', examples=("1", "4096 87380"))
