"""Whether the proxy settings fit together, and fit the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from flexnode.artifacts import Proxies
from flexnode.flows.preflight.check import Finding, ok, warning
from flexnode.flows.preflight.network import Network, parse_networks
from flexnode.flows.preflight.reading import find_text
from flexnode.flows.preflight.situation import Situation

HINT = "add it to proxy.noProxy: {}"


def check_proxy(situation: Situation) -> Iterator[Finding]:
    proxies = situation.proxies
    if proxies.http is None and proxies.https is None:
        yield from _none_configured(situation)
        return
    findings = [*_server(situation), *_ranges(situation), *_names(situation)]
    yield from findings
    if not findings:
        yield ok(f"{proxies.https or proxies.http}, and the cluster is reached without it")


def _none_configured(situation: Situation) -> Iterator[Finding]:
    names = ("http_proxy=", "https_proxy=")
    lines = (find_text(situation.host, "/etc/environment") or "").splitlines()
    if any(line.strip().lower().removeprefix("export ").startswith(names) for line in lines):
        yield warning(
            "preflight/proxy-not-configured",
            "/etc/environment names a proxy, the configuration none, and services do not read that file",
            hint="name the proxy in the configuration: proxy.https, proxy.http and proxy.noProxy",
        )
    else:
        yield ok("no proxy")


def _server(situation: Situation) -> Iterator[Finding]:
    server = situation.spec.cluster.server
    if server and situation.proxies.find(server) is not None:
        host = urlsplit(server).hostname
        yield warning(
            "preflight/proxy-api-server",
            f"the API server {host} is reached through the proxy, and so are kubelet's long-lived watches",
            hint=f"{HINT.format(host)}; if the proxy is the only way there, nothing is wrong",
        )


def _ranges(situation: Situation) -> Iterator[Finding]:
    cluster = situation.spec.cluster
    for name, text in (("service", cluster.service_cidr), ("pod", cluster.pod_cidr)):
        missing = [str(each) for each in parse_networks(text or "") if not _covers(situation.proxies, each)]
        if missing:
            yield warning(
                f"preflight/proxy-{name}-range",
                f"the {name} range {', '.join(missing)} is not exempt from the proxy",
                hint=HINT.format(", ".join(missing)),
            )


def _names(situation: Situation) -> Iterator[Finding]:
    name = f"registry.kube-system.svc.{situation.spec.cluster.domain}"
    if situation.proxies.find(f"https://{name}") is not None:
        yield warning(
            "preflight/proxy-cluster-names",
            "the names of Services are not exempt from the proxy",
            hint=HINT.format(f".svc,.{situation.spec.cluster.domain}"),
        )


def _covers(proxies: Proxies, wanted: Network) -> bool:
    """Whether no address of `wanted` is reached through a proxy."""
    everywhere = (each for each in proxies.exemptions if each.port is None)
    return any(
        each.domain == ""
        or (each.network is not None and wanted[0] in each.network and wanted[-1] in each.network)
        for each in everywhere
    )
