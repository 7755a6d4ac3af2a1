"""Which proxy, if any, stands between this machine and a URL: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY.

NO_PROXY means what it means to Kubernetes components: `*`, a host, a domain with everything below it (with or
without a leading `.` or `*.`), an address, a network in CIDR notation, each with an optional port. The
machine itself (localhost, loopback addresses) is never reached through a proxy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from flexnode.artifacts.failures import Code, failure
from flexnode.secret import Secret

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


@dataclass(frozen=True, kw_only=True, slots=True)
class Proxy:
    """A proxy. Its address may hold a password, so it prints without one."""

    url: Secret

    def __str__(self) -> str:
        return redact(self.url.reveal())


@dataclass(frozen=True, kw_only=True, slots=True)
class Exemption:
    """One entry of NO_PROXY. Exactly one of `network`, `domain` is set; `*` is the empty domain."""

    network: Network | None = None
    domain: str | None = None
    subdomains_only: bool = False
    port: int | None = None

    def covers(self, host: str, port: int) -> bool:
        if self.port is not None and self.port != port:
            return False
        if self.network is not None:
            address = _parse_address(host)
            return address is not None and address in self.network
        if not self.domain:
            return True
        if host == self.domain:
            return not self.subdomains_only
        return host.endswith("." + self.domain)


@dataclass(frozen=True, kw_only=True, slots=True)
class Proxies:
    """The proxies of an environment; `Proxies()` is none at all."""

    http: Proxy | None = None
    https: Proxy | None = None
    exemptions: tuple[Exemption, ...] = ()

    def find(self, url: str) -> Proxy | None:
        """The proxy for a URL; None means: connect directly."""
        parts = urlsplit(url)
        host = _bare(parts.hostname or "")
        address = _parse_address(host)
        if host == "localhost" or host.endswith(".localhost") or (address and address.is_loopback):
            return None
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if any(exemption.covers(host, port) for exemption in self.exemptions):
            return None
        return self.https if parts.scheme == "https" else self.http


def load_proxies(environ: Mapping[str, str]) -> Proxies:
    """The proxies that environment variables name. The lower-case name wins, as it does for curl."""

    def value(name: str) -> str:
        return environ.get(name) or environ.get(name.upper()) or ""

    return Proxies(
        http=parse_proxy(value("http_proxy") or value("all_proxy")),
        https=parse_proxy(value("https_proxy") or value("all_proxy")),
        exemptions=parse_no_proxy(value("no_proxy")),
    )


def parse_proxy(text: str) -> Proxy | None:
    """A proxy's address; without a scheme it is http. Empty text is no proxy."""
    text = text.strip()
    if not text:
        return None
    url = text if "://" in text else f"http://{text}"
    parts = _split(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise failure(Code.PROXY_INVALID, f"{redact(url)!r} is not the address of an HTTP proxy")
    return Proxy(url=Secret(url))


def parse_no_proxy(text: str) -> tuple[Exemption, ...]:
    """The entries of NO_PROXY, separated by commas or white space. What cannot match anything is dropped."""
    entries = (_parse_exemption(entry.strip().lower()) for entry in re.split(r"[,\s]+", text))
    return tuple(entry for entry in entries if entry is not None)


def redact(url: str) -> str:
    """`url` without its user and password."""
    head, separator, rest = url.partition("://")
    if not separator:
        head, rest = "", url
    if "@" in rest and not _has_host(rest):
        # A password in which a slash was not quoted reaches into what looks like the path.
        return f"{head}{separator}{rest.rpartition('@')[2]}"
    authority, slash, path = rest.partition("/")
    return f"{head}{separator}{authority.rpartition('@')[2]}{slash}{path}"


def _has_host(rest: str) -> bool:
    """Whether what comes before the first slash ends as an authority does: HOST, HOST:PORT or [ADDRESS]."""
    host, colon, port = rest.partition("/")[0].rpartition("@")[2].rpartition(":")
    return not colon or host.startswith("[") or port.isdigit()


def _parse_exemption(entry: str) -> Exemption | None:
    if not entry:
        return None
    if entry == "*":
        return Exemption(domain="")
    if (network := _parse_network(entry)) is not None:
        return Exemption(network=network)
    host, port = _split_port(entry)
    if (network := _parse_network(host)) is not None:
        return Exemption(network=network, port=port)
    subdomains_only = host.startswith((".", "*."))
    domain = host.removeprefix("*").strip(".")
    if not domain:
        return Exemption(domain="", port=port) if host == "*" else None
    return Exemption(domain=domain, subdomains_only=subdomains_only, port=port)


def _split_port(entry: str) -> tuple[str, int | None]:
    host, separator, port = entry.rpartition(":")
    if separator and port.isascii() and port.isdigit() and int(port) <= 65535:
        return _bare(host), int(port)
    return _bare(entry), None


def _parse_network(text: str) -> Network | None:
    try:
        return ip_network(_bare(text), strict=False)
    except ValueError:
        return None


def _parse_address(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _bare(host: str) -> str:
    return host.lower().removeprefix("[").removesuffix("]").removesuffix(".")


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # parsed only when asked for
    except ValueError:
        return None
    return parts
