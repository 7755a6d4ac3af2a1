"""A wrong value is refused under its own path, with the way out; a right one is not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexlab.pki import create_authority
from flexnode.config.decode import decode_layer
from flexnode.config.layers import Layer
from flexnode.config.problems import render_path
from unit.config.samples import CA, CLUSTER_ID, GUID, HASH, TOKEN, problems_of, with_value

LONG = "x" * 64

# Path, value, the path that the error names, words of what is wrong, words of the hint.
WRONG: list[tuple[str, object, str, str, str]] = [
    ("kubelet.maxPods", 0, "kubelet.maxPods", "is not a whole number from 1 to 1024", ""),
    ("kubelet.maxPods", True, "kubelet.maxPods", "is not a whole number", ""),
    ("kubelet.maxPods", 10**5000, "kubelet.maxPods", "is not a whole number", ""),
    ("kubelet.maxPods", "50", "kubelet.maxPods", "is not a whole number", "without quotes"),
    ("kubelet.maxPods", 1.5, "kubelet.maxPods", "is not a whole number", ""),
    ("kubelet.maxPods", None, "kubelet.maxPods", "is not a whole number", ""),
    ("kubelet.verbosity", 11, "kubelet.verbosity", "from 0 to 10", ""),
    ("kubelet.imageGCHighThresholdPercent", 101, "kubelet.imageGCHighThresholdPercent", "from 1 to 100", ""),
    ("kubelet.imageGCLowThresholdPercent", -1, "kubelet.imageGCLowThresholdPercent", "from 0 to 99", ""),
    ("kubelet.podPidsLimit", 0, "kubelet.podPidsLimit", "-1 or a whole number from 1", ""),
    ("kubelet.containerLogMaxFiles", 1, "kubelet.containerLogMaxFiles", "from 2 to 100", ""),
    ("kubelet.serializeImagePulls", "true", "kubelet.serializeImagePulls", "true or false", "without quotes"),
    ("kubelet.serializeImagePulls", 1, "kubelet.serializeImagePulls", "true or false", ""),
    ("kubelet.kubeReserved", {"cup": "1"}, "kubelet.kubeReserved.cup", "has a key that", "did you mean cpu?"),
    ("kubelet.kubeReserved", {"cpu": "-1"}, "kubelet.kubeReserved.cpu", "is not an amount", "500m"),
    ("kubelet.systemReserved", {"memory": "1GB"}, "kubelet.systemReserved.memory", "is not an amount", ""),
    (
        "kubelet.evictionHard",
        {"memory.available": "101%"},
        'kubelet.evictionHard["memory.available"]',
        "is not an amount or a percentage",
        "10%",
    ),
    ("kubelet.shutdownGracePeriod", "30", "kubelet.shutdownGracePeriod", "is not a duration", "30s"),
    ("kubelet.shutdownGracePeriod", "0s", "kubelet.shutdownGracePeriod", "is no time at all", ""),
    ("kubelet.containerLogMaxSize", "50MB", "kubelet.containerLogMaxSize", "is not an amount", ""),
    (
        "kubelet.servingCertificates",
        "ON",
        "kubelet.servingCertificates",
        "is not auto, on or off",
        "mean on?",
    ),
    ("kubelet.featureGates", {"x": True}, "kubelet.featureGates.x", "has a key that", ""),
    ("kubelet.featureGates", {"X": "true"}, "kubelet.featureGates.X", "is not true or false", ""),
    (
        "kubelet.credentialProviders",
        [{"name": "a", "matchImages": ["b"]}],
        "kubelet.credentialProviders[0].binary",
        "missing",
        "",
    ),
    ("node.name", "Edge_1", "node.name", "is not a DNS name in lower case", "lower-case letters"),
    ("node.name", "a." * 130 + "a", "node.name", "longer than 253", ""),
    ("node.name", "", "node.name", "is empty", "leave the key out"),
    ("kubelet.shutdownGracePeriod", 5, "kubelet.shutdownGracePeriod", "is not a duration", "30s"),
    ("node.name", 7, "node.name", "is not a DNS name", 'in quotes: "7"'),
    ("node.name", "edge\n", "node.name", "is not a DNS name", ""),
    ("node.ip", "10.0.0.256", "node.ip", "is not an IP address", ""),
    ("node.ip", "127.0.0.1", "node.ip", "no address that others can reach", ""),
    ("node.ip", "fe80::1%eth0", "node.ip", "names an interface", "%"),
    ("node.labels", {"a b": "x"}, 'node.labels["a b"]', "has a key that is not a label's key", ""),
    ("node.labels", {"a": LONG}, "node.labels.a", "is not a label's value", "at most 63"),
    ("node.labels", {"a": 1}, "node.labels.a", "is not a label's value", 'in quotes: "1"'),
    ("node.labels", {"x" * 254 + "/a": "x"}, f'node.labels["{"x" * 254}/a"]', "a label's key", ""),
    (
        "node.labels",
        {"node-role.kubernetes.io/worker": ""},
        'node.labels["node-role.kubernetes.io/worker"]',
        "a node may not label itself",
        "kubectl label node",
    ),
    ("node.labels", {"k8s.io/x": "y"}, 'node.labels["k8s.io/x"]', "a node may not label itself", ""),
    ("node.labels", {"a.k8s.io/x": "y"}, 'node.labels["a.k8s.io/x"]', "NodeRestriction", ""),
    (
        "node.labels",
        {"node-restriction.kubernetes.io/team": "a"},
        'node.labels["node-restriction.kubernetes.io/team"]',
        "keep workloads away from nodes that label themselves",
        "from outside",
    ),
    ("node.annotations", {"a": "\ud800"}, "node.annotations.a", "half of a character", "\\u"),
    ("node.annotations", {"\ud800": "a"}, 'node.annotations["?"]', "half of a character", ""),
    ("node.name", "a" * 3000, "node.name", "is longer than 2048 characters", ""),
    ("node.annotations", {"a": 1}, "node.annotations.a", "is not text", "in quotes"),
    ("node.annotations", {"/a": "x"}, 'node.annotations["/a"]', "an annotation's key", ""),
    ("node.taints", ["a=b"], "node.taints[0]", "is not a taint: KEY[=VALUE]:EFFECT", ""),
    ("node.taints", ["a=b:Never"], "node.taints[0]", "is not a taint", ""),
    ("node.taints", "a=b:NoExecute", "node.taints", "is not a list", "also for one"),
    ("node.taints", ["a:NoExecute", "a:NoExecute"], "node.taints[1]", "is in the list already", ""),
    ("node.providerID", "edge", "node.providerID", "SCHEME://ID", ""),
    ("node.zone", "a/b", "node.zone", "is not a label's value", "becomes a label"),
    ("cluster.server", "http://api.example.com", "cluster.server", "https://", ""),
    ("cluster.server", "api.example.com:6443", "cluster.server", "is not a URL", "https://"),
    ("cluster.server", "https://u:p@api.example.com", "cluster.server", "holds a password", "auth"),
    ("cluster.server", "https://api.example.com/x", "cluster.server", "more than scheme, host", ""),
    ("cluster.server", "https://10.0.0.256:6443", "cluster.server", "names no host", ""),
    ("cluster.server", "https://api.example.com:99999", "cluster.server", "is not a URL", ""),
    ("cluster.ca", "hello", "cluster.ca", "is not a certificate in PEM", "BEGIN CERTIFICATE"),
    ("cluster.ca", "LS0tLS1CRUdJTi", "cluster.ca", "base64 of a certificate", "base64 -d"),
    ("cluster.ca", CA.replace("MAc", "MAg"), "cluster.ca", "damaged or cut off", ""),
    ("cluster.ca", CA.replace("MAc", "!Ac"), "cluster.ca", "base64 is damaged", ""),
    ("cluster.ca", CA.replace("CERTIFICATE", "RSA PRIVATE KEY"), "cluster.ca", "private key", ""),
    ("cluster.ca", CA.replace("CERTIFICATE", "PUBLIC KEY"), "cluster.ca", "holds a public key", ""),
    ("cluster.ca", CA.replace("MAc", "…Ac"), "cluster.ca", "base64 is damaged", ""),
    ("cluster.ca", CA + CA[:40], "cluster.ca", "damaged or cut off", ""),
    ("cluster.caHashes", ["sha256:AB"], "cluster.caHashes[0]", "hash of a CA's public key", "64 lower-case"),
    ("cluster.caHashes", [], "cluster.caHashes", "is empty", ""),
    ("cluster.dnsServiceIP", "kube-dns", "cluster.dnsServiceIP", "is not an IP address", ""),
    ("cluster.serviceCIDR", "10.0.0.0", "cluster.serviceCIDR", "CIDR notation", "10.244.0.0/16"),
    ("cluster.podCIDR", "10.0.0.1/16", "cluster.podCIDR", "bits set beyond", "write 10.0.0.0/16"),
    ("cluster.podCIDR", "10.0.0.0/16,10.1.0.0/16", "cluster.podCIDR", "more than one network", ""),
    ("cluster.domain", "cluster..local", "cluster.domain", "is not a DNS name", ""),
    ("cluster.id", "x", "cluster.id", "cannot be set: it is computed", "leave it out"),
    ("versions.kubernetes", "v1.34", "versions.kubernetes", "is not a version", "without a leading v"),
    ("versions.kubernetes", 1.34, "versions.kubernetes", "is not a version", 'in quotes: "1.34"'),
    ("versions.kubernetes", "0.9", "versions.kubernetes", "no version of Kubernetes", ""),
    ("versions.containerd", "1.7.0", "versions.containerd", "is too old", "2.0 or newer"),
    ("versions.runc", "1.2", "versions.runc", "is not a version", "all three numbers"),
    ("runtime.sandboxImage", "registry/UPPER", "runtime.sandboxImage", "reference of an image", ""),
    ("runtime.cni", "calico", "runtime.cni", "is not bridge or none", ""),
    (
        "runtime.registries",
        {"https://docker.io": {}},
        'runtime.registries["https://docker.io"]',
        "has a key that is not a registry",
        "leave out the scheme",
    ),
    (
        "runtime.registries",
        {"docker.io": {"mirrors": ["https://u:p@mirror.example.com"]}},
        'runtime.registries["docker.io"].mirrors[0]',
        "holds a user or password",
        "leave it out",
    ),
    (
        "runtime.registries",
        {"docker.io": {"mirror": []}},
        'runtime.registries["docker.io"].mirror',
        "is not a setting",
        'did you mean runtime.registries["docker.io"].mirrors?',
    ),
    ("host.journaldMaxUse", "512MB", "host.journaldMaxUse", "a size that journald knows", "512M"),
    ("host.sysctls", {"vm": "1"}, "host.sysctls.vm", "name of a sysctl", ""),
    ("host.sysctls", {"vm.swappiness": 1}, 'host.sysctls["vm.swappiness"]', "sysctl's value", '"1"'),
    ("host.modules", ["/lib/x.ko"], "host.modules[0]", "name of a kernel module", ""),
    ("host.caCertificates", ["x"], "host.caCertificates[0]", "is not a certificate", ""),
    ("proxy.http", "proxy.example.com:3128", "proxy.http", "is not a URL", "http://proxy.example.com"),
    ("proxy.https", "socks5://proxy", "proxy.https", "begins with http:// or https://", ""),
    ("proxy.noProxy", ["a,b"], "proxy.noProxy[0]", "more than one entry", "one entry each"),
    ("proxy.noProxy", ["http://a"], "proxy.noProxy[0]", "is a URL", "host alone"),
    ("artifacts.sources", ["mirror"], "artifacts.sources[0]", "not a place of artifacts", "https://HOST"),
    ("artifacts.sources", ["ftp://a/b"], "artifacts.sources[0]", "begins with http://", ""),
    ("artifacts.sources", ["oci-layout:x"], "artifacts.sources[0]", "absolute path", ""),
    ("artifacts.sources", [], "artifacts.sources", "is empty", ""),
    ("artifacts.caBundle", "ca.pem", "artifacts.caBundle", "is not an absolute path", ""),
    ("agent.logLevel", "warn", "agent.logLevel", "debug, info, warning or error", ""),
    ("agent.drift", "ignore", "agent.drift", "repair or report", ""),
    ("agent.bootstrapTimeout", "15", "agent.bootstrapTimeout", "is not a duration", "15m"),
    ("azure.subscriptionId", "mine", "azure.subscriptionId", "is not a GUID", "8-4-4-4-12"),
    ("azure.cloud", "AzurePublic", "azure.cloud", "AzureUSGovernment", "resourceManagerEndpoint"),
    ("azure.resourceManagerEndpoint", "http://x.y", "azure.resourceManagerEndpoint", "https://", ""),
    ("azure.cluster.resourceId", "factory", "azure.cluster.resourceId", "resource id", "az aks show"),
    ("azure.cluster.location", "West US", "azure.cluster.location", "an Azure region", "westeurope"),
    ("azure.cluster.agentPool", "Flex", "azure.cluster.agentPool", "agent pool", "lower-case"),
    ("azure.arc.machineName", "-edge", "azure.arc.machineName", "name of an Arc machine", ""),
    ("azure.arc.resourceGroup", "edge.", "azure.arc.resourceGroup", "name of a resource group", ""),
    ("azure.arc.tags", {"a": "b,c"}, "azure.arc.tags.a", "text without commas", ""),
    ("auth.managedIdentity", True, "auth.managedIdentity", "is not a map", ""),
    ("auth.managedIdentity.clientId", "x", "auth.managedIdentity.clientId", "is not a GUID", ""),
    ("kubelet", [], "kubelet", "is not a map", ""),
    ("kubelet.maxPod", 5, "kubelet.maxPod", "is not a setting", "did you mean kubelet.maxPods?"),
    ("kubelet.max_pods", 5, "kubelet.max_pods", "is not a setting", "did you mean kubelet.maxPods?"),
    ("maxPods", 5, "maxPods", "is not a setting", "did you mean kubelet.maxPods?"),
    ("node.taint", [], "node.taint", "is not a setting", "did you mean node.taints?"),
    ("xyzzy", {}, "xyzzy", "is not a setting", ""),
    ("apiVersion", "flexnode.io/v2", "apiVersion", "is not known", "reads flexnode.io/v1"),
    ("kind", "Node", "kind", "is not known", "reads NodeConfig"),
]


@pytest.mark.parametrize(("path", "value", "place", "what", "hint"), WRONG, ids=[row[0] for row in WRONG])
def test_a_wrong_value_is_refused_under_its_path(
    path: str, value: object, place: str, what: str, hint: str
) -> None:
    (problem,) = problems_of(with_value(path.split("."), value))
    assert render_path(problem.path) == place
    assert what in problem.what
    assert hint in problem.hint
    assert bool(hint) <= bool(problem.hint)
    assert problem.origin == "a"


RIGHT: list[tuple[str, object]] = [
    ("kubelet.podPidsLimit", -1),
    ("kubelet.kubeReserved", {}),
    ("kubelet.evictionHard", {"memory.available": "100Mi", "nodefs.available": "7.5%"}),
    ("kubelet.shutdownGracePeriod", "1h30m10.5s"),
    ("node.labels", {"kubernetes.io/arch": "amd64", "node.kubernetes.io/pool": "a", "disk": ""}),
    ("node.labels", {"x.kubelet.kubernetes.io/a": "b", "topology.kubernetes.io/zone": "z", "k8s.iox/a": "b"}),
    ("node.taints", ["a:NoSchedule", "a=b:NoExecute", "example.com/x=:PreferNoSchedule"]),
    ("node.annotations", {"example.com/contact": "two\nlines", "empty": ""}),
    ("node.ip", "fd00::4"),
    ("cluster.server", "https://[fd00::1]:6443"),
    ("cluster.server", "https://api.example.com/"),
    ("cluster.ca", CA + "# a comment\n" + CA),
    ("cluster.caHashes", [HASH]),
    ("cluster.podCIDR", "10.244.0.0/16,fd00:10:244::/56"),
    ("versions.kubernetes", "1.34"),
    ("versions.kubernetes", "1.34.4"),
    ("versions.containerd", "2.1.0-rc.1"),
    ("runtime.sandboxImage", "registry.example.com:5000/a/b@sha256:" + "0" * 64),
    ("runtime.registries", {"_default": {"mirrors": ["http://10.0.0.4:5000"]}, "a.example:5000": {"ca": CA}}),
    ("proxy.noProxy", [".example.com", "10.0.0.0/8", "a:5000", "*"]),
    (
        "artifacts.sources",
        ["/var/bundle.tar", "oci://r.example.com/a", "file:///m", "oci-layout:/x", "vendor"],
    ),
    ("azure.cluster.resourceId", CLUSTER_ID.replace("resourceGroups", "resourcegroups")),
    ("azure.arc.tags", {"a": "", "b c": "d e"}),
    ("auth.bootstrapToken", {"file": "/etc/token"}),
    ("auth.bootstrapToken", {"credential": "token"}),
    ("auth.managedIdentity", {}),
    ("auth.managedIdentity", {"clientId": GUID.format(7)}),
    ("$schema", "https://example.com/nodeconfig.schema.json"),
]


@pytest.mark.parametrize(("path", "value"), RIGHT)
def test_a_right_value_is_accepted(path: str, value: object) -> None:
    assert problems_of(with_value(path.split("."), value)) == ()


def test_a_real_authority_is_accepted(tmp_path: Any) -> None:
    """The outline of the samples could be accepted by mistake; this is what clusters have."""
    pem = create_authority("kubernetes").certificate.decode()
    assert problems_of(with_value(("cluster", "ca"), pem)) == ()
    cut = "\n".join([*pem.splitlines()[:3], *pem.splitlines()[-1:]])
    (problem,) = problems_of(with_value(("cluster", "ca"), cut))
    assert "damaged" in problem.what


def test_all_problems_are_told_at_once() -> None:
    document = with_value(("kubelet",), {"maxPods": 0, "verbosity": "high", "maxPod": 1})
    document = with_value(("node", "name"), "A", document)
    places = [render_path(problem.path) for problem in problems_of(document, with_value(("proxy",), 1))]
    assert places == ["kubelet.maxPods", "kubelet.verbosity", "kubelet.maxPod", "node.name", "proxy"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("auth", "bootstrapToken"), f"{TOKEN}x"),
        (("auth", "bootstrapTokn"), TOKEN),
        (("auth", "bootstrapToken"), {"literal": TOKEN}),
        (("auth", "bootstrapToken"), [TOKEN]),
        (("auth",), TOKEN),
        (("auth", TOKEN), "x"),
        (("node", "labels"), {TOKEN: 1}),
        (("node", "name"), TOKEN.upper() + TOKEN),
        (("node", "ip"), TOKEN),
        (("cluster", "server"), f"http://user:{TOKEN}@api"),
        (("proxy", "http"), f"socks://user:{TOKEN}@proxy"),
        (("artifacts", "sources"), [f"ftp://user:{TOKEN}@mirror"]),
        (("kubelet", "maxPods"), TOKEN),
        (("kubelet", "servingCertificates"), TOKEN),
    ],
)
def test_an_error_never_quotes_a_secret(path: tuple[str, ...], value: object) -> None:
    """Errors go to logs, to status and to tickets."""
    problems = problems_of(with_value(path, value))
    assert problems
    for problem in problems:
        assert TOKEN not in str(problem)
        assert TOKEN not in str(problem.record())


def test_every_error_can_be_printed() -> None:
    """A terminal takes UTF-8; JSON and the environment can bring what that cannot hold."""
    document = {
        "\ud800": 1,
        **with_value(("node", "name"), "\udcff"),
        "kubelet": {"maxPods": "\x1b[2J\ud800"},
    }
    problems = problems_of(document)
    assert len(problems) == 3
    for problem in problems:
        assert "\x1b" not in str(problem).encode().decode()


def test_a_value_that_was_redacted_is_not_taken_for_a_secret() -> None:
    (problem,) = problems_of(with_value(("auth", "bootstrapToken"), "‹redacted›"))  # noqa: RUF001
    assert "was redacted when it was shown" in problem.what


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
KEYS = st.sampled_from(
    [
        "cluster",
        "node",
        "auth",
        "azure",
        "kubelet",
        "runtime",
        "labels",
        "taints",
        "ca",
        "server",
        "arc",
        "components",
    ]
)
SHAPED = st.recursive(
    JSON, lambda inner: st.dictionaries(KEYS, inner) | st.lists(inner, max_size=2), max_leaves=20
)


@pytest.mark.slow
@given(
    st.dictionaries(KEYS | st.sampled_from(["apiVersion", "kind"]) | st.text(), JSON | SHAPED), st.booleans()
)
def test_no_document_crashes_the_decoder(document: dict[str, Any], fragment: bool) -> None:
    layer = decode_layer(Layer(origin="a", data=document, fragment=fragment))
    assert all(str(problem) for problem in layer.problems)


@given(st.lists(st.tuples(st.sampled_from(WRONG), st.just(None)), min_size=2, max_size=5))
def test_wrong_values_do_not_hide_each_other(chosen: list[tuple[Any, None]]) -> None:
    document = {}
    expected = set()
    for (path, value, place, _, _), _ in chosen:
        steps = path.split(".")
        if steps[0] in ("apiVersion", "kind") or len(steps) != 2 or steps[0] in document:
            continue
        document[steps[0]] = {steps[1]: value}
        expected.add(place)
    layer = decode_layer(Layer(origin="a", data=document, fragment=True))
    found = {render_path(problem.path) for problem in layer.problems}
    assert found == expected - {"azure.cloud"}  # whether a cloud is known is seen with its endpoint
