"""Checks of the way to the cluster: names, the API server, its certificate, our token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from flexnode.artifacts import Code as ArtifactCode
from flexnode.errors import ArtifactError, KubeError
from flexnode.flows.preflight.check import Finding, error, failed, ok, skipped, warning
from flexnode.flows.preflight.offline import tell_bundle
from flexnode.flows.preflight.situation import Situation
from flexnode.kube import Code

NO_CLUSTER = "the configuration names no cluster"
NOT_REACHED = "the API server was not reached; see api-server"
NOT_TOLD = "the API server did not let us in; see ca and token"

ABOUT_TRUST = frozenset({Code.TLS_UNTRUSTED, Code.CA_UNVERIFIED, Code.BAD_CA, Code.NO_CLUSTER_INFO})
ABOUT_US = frozenset({Code.UNAUTHORIZED, Code.TOKEN_UNKNOWN, Code.BAD_CREDENTIALS})

# Said before anybody was asked, or after somebody was who proved nothing.
UNPROVEN = frozenset({Code.CA_UNVERIFIED, Code.BAD_CA, Code.BAD_CREDENTIALS})

IMAGES = "a mirror of"
VENDOR = "a vendor's release site"
SOURCE = "a source of artifacts"

RETRIES = (1.0, 2.0)
"""A resolver that has just started knows no name, so one that does not exist is asked for again."""


def check_dns(situation: Situation) -> Iterator[Finding]:
    purposes = endpoints(situation)
    unknown = dict.fromkeys(host for host in purposes if not _is_address(host))
    if not unknown:
        yield ok("every server is given by its address")
        return
    known = []
    for pause in (0.0, *RETRIES):
        if unknown and pause:
            situation.clock.sleep(pause)
        for host in list(unknown):
            try:
                situation.resolve(host)
            except ArtifactError as failure:
                if failure.code != ArtifactCode.DNS_NXDOMAIN:
                    yield _no_answer(host, purposes[host], failure, situation)
                    if not purposes[host].startswith(IMAGES):
                        return  # the other names would wait for the same silent name servers
                    unknown = {each: None for each in unknown if not purposes[each].startswith(IMAGES)}
                    break
            else:
                known.append(host)
                del unknown[host]
    for host in unknown:
        yield _unknown(host, purposes[host], situation)
    if not unknown:
        yield ok(", ".join(known))


def check_api_server(situation: Situation) -> Iterator[Finding]:
    server = situation.spec.cluster.server
    if situation.cluster is None:
        yield skipped(NO_CLUSTER)
        return
    try:
        ready = situation.cluster.reach().ready
    except KubeError as failure:
        if failure.code in UNPROVEN:
            yield skipped(NOT_TOLD)
        elif failure.code == Code.DNS:
            yield skipped("its name cannot be looked up; see dns")
        elif failure.code in ABOUT_TRUST | ABOUT_US | {Code.CLOCK}:
            yield ok(f"{server} answers; what is wrong with the answer stands at ca, token or clock-skew")
        else:
            yield failed(failure)
        return
    if ready:
        yield ok(f"{server} answers")
    else:
        yield error(
            Code.SERVER_ERROR,
            f"{server} answers that it is not ready",
            hint="see what it says at /readyz?verbose, and try again when it has come up",
            transient=True,
        )


def check_ca(situation: Situation) -> Iterator[Finding]:
    if situation.cluster is None:
        yield skipped(NO_CLUSTER)
        return
    try:
        situation.cluster.reach()
    except KubeError as failure:
        if failure.code in ABOUT_TRUST:
            yield failed(failure)
        elif failure.code in ABOUT_US:
            yield skipped("nothing vouches for the CA without a token; see token")
        else:
            yield why_not(failure)
    else:
        yield ok("the API server's certificate comes from the cluster's CA")


def check_token(situation: Situation) -> Iterator[Finding]:
    if situation.cluster is None:
        yield skipped(NO_CLUSTER)
        return
    what = "the node's own certificate" if situation.ours.certificate else "the bootstrap token"
    if situation.spec.credentials.bootstrap_token is None and not situation.ours.certificate:
        yield skipped("the configuration holds no bootstrap token")
        return
    try:
        situation.cluster.authenticate()
    except KubeError as failure:
        if failure.code in ABOUT_US:
            yield error(
                failure.code,
                f"{what} is not accepted: {failure.message}",
                hint="it is wrong, or has expired: make a new one with `aks-flex-node cluster token`, and put"
                " it into the configuration",
            )
        elif failure.code in ABOUT_TRUST:
            yield skipped("nobody shows a token to a server that is not trusted; see ca")
        elif failure.code == Code.FORBIDDEN:
            yield ok(f"{what} is accepted")
        else:
            yield why_not(failure)
    else:
        yield ok(f"{what} is accepted")


def why_not(failure: KubeError) -> Finding:
    """For a check that got no answer: the one whose business the failure is."""
    return skipped(NOT_REACHED if failure.transient else NOT_TOLD)


def endpoints(situation: Situation) -> Mapping[str, str]:
    """Every host name that this machine itself has to look up, and what for.

    A proxy looks up the others; sources of artifacts do not matter when the store has everything.
    """
    spec = situation.spec
    wanted = [(spec.cluster.server, "the API server")]
    missing = situation.missing()
    for source in spec.artifacts.sources if missing else ():
        if source == "vendor":
            wanted += [(url, VENDOR) for part in missing for url in part.urls]
        elif "://" in source:
            wanted.append((_as_web(source), SOURCE))
    for registry in spec.machine.runtime.registries:
        wanted += [(url, f"{IMAGES} {registry.registry}") for url in registry.endpoints]
    found: dict[str, str] = {}
    for url, purpose in wanted:
        proxy = situation.proxies.find(url) if url else None
        host = urlsplit(url if proxy is None else proxy.url.reveal()).hostname
        if host:
            found.setdefault(host, purpose if proxy is None else "the proxy")
    return found


def _unknown(host: str, purpose: str, situation: Situation) -> Finding:
    message = f"{host} ({purpose}) does not exist in DNS"
    hint = (
        "check its spelling in the configuration, and that this machine's name servers know it"
        " (resolvectl query, /etc/resolv.conf)"
    )
    if purpose.startswith(IMAGES):  # the registry itself is asked then
        return warning("preflight/dns-unknown-mirror", message, hint=hint)
    return error("preflight/dns-unknown-name", message, hint=hint + _or_bundle(purpose, situation))


def _or_bundle(purpose: str, situation: Situation) -> str:
    """Names of sources need no lookup where a bundle has what they have."""
    known = purpose in (VENDOR, SOURCE)
    return f"; where no source is reached, run {tell_bundle(situation)}" if known else ""


def _as_web(source: str) -> str:
    """The URL that a source is asked at: a registry speaks HTTP too."""
    scheme, _, rest = source.partition("://")
    return {"oci": "https", "oci+http": "http"}.get(scheme, scheme) + "://" + rest


def _no_answer(host: str, purpose: str, failure: ArtifactError, situation: Situation) -> Finding:
    message = f"looking up {host} ({purpose}): {failure.message}"
    hint = "check this machine's name servers and the way to them (resolvectl status, /etc/resolv.conf)"
    if purpose.startswith(IMAGES):  # a node without registries runs the images that were brought to it
        return warning("preflight/dns-no-answer", message, hint=hint)
    return error(
        "preflight/dns-no-answer",
        message,
        hint=hint + _or_bundle(purpose, situation),
        transient=failure.transient,
    )


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
