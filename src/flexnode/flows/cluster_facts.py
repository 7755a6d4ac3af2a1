"""What the cluster says of itself: values for settings that nobody made.

Every connection is verified. Where the configuration has no CA, the CA is the one that a signed cluster-info
or a pinned hash proves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from flexnode.artifacts import HttpSettings, Proxies, load_proxies
from flexnode.clock import Clock
from flexnode.errors import KubeError
from flexnode.host import door
from flexnode.kube import Api, Connection, Credential, KubeClient
from flexnode.kube.discovery import ServerVersion, read_version
from flexnode.kube.facts import ClusterFacts, detect_cluster
from flexnode.kube.failures import Code, failure
from flexnode.kube.trust import Proof, discover_authority
from flexnode.model.spec import NodeSpec, ServingCertificates


@dataclass(frozen=True, kw_only=True, slots=True)
class Detected:
    """`settings` are by their paths in the configuration, and only fill what nobody set."""

    settings: Mapping[str, str] = field(default_factory=dict)
    facts: ClusterFacts = field(default_factory=ClusterFacts)


def make_proxies(spec: NodeSpec) -> Proxies:
    """The configured proxies; an address with a password in it stands among the credentials."""
    proxy, secret = spec.machine.proxy, spec.credentials
    return load_proxies(
        {
            "http_proxy": secret.http_proxy.reveal() if secret.http_proxy else proxy.http,
            "https_proxy": secret.https_proxy.reveal() if secret.https_proxy else proxy.https,
            "no_proxy": ",".join(proxy.no_proxy),
        }
    )


def to_archives(proxies: Proxies, spec: NodeSpec) -> door.Proxies:
    """The same proxies, for the machine's package manager."""
    return door.Proxies(
        http=proxies.http.url if proxies.http else None,
        https=proxies.https.url if proxies.https else None,
        exempt=spec.machine.proxy.no_proxy,
    )


def make_http_settings(spec: NodeSpec) -> HttpSettings:
    """How the servers are reached that artifacts come from."""
    bundle = spec.artifacts.ca_bundle
    return HttpSettings(proxies=make_proxies(spec), ca_bundle=Path(bundle) if bundle else None)


def connect(spec: NodeSpec, *, clock: Clock, credential: Credential | None = None) -> KubeClient:
    """A client of the configured cluster, through its proxy; as `credential`, else with the bootstrap token.

    The caller closes it. Raises where the CA is neither configured nor can be proven.
    """
    server = spec.cluster.server
    if not server:
        raise failure(Code.BAD_SERVER, "the configuration names no cluster", hint="set cluster.server")
    proxy = make_proxies(spec).find(server)
    connection = Connection(
        server=server,
        ca=spec.cluster.ca,
        credential=credential or spec.credentials.bootstrap_token,
        proxy=proxy.url if proxy else None,
    )
    if not connection.ca:
        proof = Proof(token=spec.credentials.bootstrap_token, pins=spec.cluster.ca_hashes)
        connection = replace(connection, ca=discover_authority(connection, proof, clock).ca)
    return KubeClient(connection, clock)


def detect(api: Api, clock: Clock, *, known: Iterable[str], hostname: str = "") -> Detected:
    """What the cluster tells, and the host name. `known` are the minor versions that the catalog has.

    A cluster that lets us read nothing gives nothing; one that cannot be asked raises.
    """
    facts = detect_cluster(api, clock)
    found = {
        "versions.kubernetes": choose_kubernetes(_find_version(api), known),
        "cluster.dnsServiceIP": facts.dns_service_ip,
        "cluster.domain": facts.domain,
        "cluster.serviceCIDR": facts.service_cidr,
        "cluster.podCIDR": facts.pod_cidr,
        "node.name": hostname.lower() or None,
    }
    return Detected(settings={path: value for path, value in found.items() if value is not None}, facts=facts)


def choose_kubernetes(server: ServerVersion | None, known: Iterable[str]) -> str | None:
    """The newest known minor version that is not newer than the API server's; None where there is none."""
    if server is None:
        return None
    minors = [tuple(map(int, each.split(".")[:2])) for each in known]
    fitting = [minor for minor in minors if minor <= server.minor]
    return ".".join(map(str, max(fitting))) if fitting else None


def settle_serving(spec: NodeSpec, facts: ClusterFacts) -> NodeSpec:
    """`auto` becomes on where somebody approves kubelets' serving certificates, else off."""
    if spec.kubelet.serving_certificates is not ServingCertificates.AUTO:
        return spec
    wish = ServingCertificates.ON if facts.approves_serving else ServingCertificates.OFF
    return replace(spec, kubelet=replace(spec.kubelet, serving_certificates=wish))


def _find_version(api: Api) -> ServerVersion | None:
    try:
        return read_version(api)
    except KubeError as error:
        if error.code in (Code.FORBIDDEN, Code.UNAUTHORIZED):
            return None
        raise
