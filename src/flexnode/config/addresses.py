"""The syntax of addresses: URLs, hosts, IP addresses, networks, proxies, places of files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flexnode.config.rules import Rule, Wrong

if TYPE_CHECKING:
    from urllib.parse import SplitResult

ABSOLUTE_PATH = r"/[^\x00-\x1f\x7f]*"

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?\.?")


def check_server(url: str) -> Wrong | None:
    """The API server: https, a host, perhaps a port, nothing else."""
    if wrong := _check_url(url, ("https",)):
        return wrong
    parts = _split(url)
    if parts is None or "@" in parts.netloc:
        return Wrong("holds a password", hint="credentials go into auth")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        return Wrong("says more than scheme, host and port", hint="write https://HOST:PORT")
    return None


def url_rule(*schemes: str) -> Rule:
    """A URL of one of `schemes`, without a password."""

    def check(url: str) -> Wrong | None:
        if wrong := _check_url(url, schemes):
            return wrong
        parts = _split(url)
        if parts is None or "@" in parts.netloc:
            return Wrong("holds a user or password", hint="leave it out of the URL")
        return None

    return check


def check_proxy(url: str) -> Wrong | None:
    """A proxy: http or https; a user and password are allowed."""
    if "://" not in url:
        return Wrong("is not a URL", hint=f"write http://{url.rpartition('@')[2]}" if url.isascii() else "")
    return _check_url(url, ("http", "https"))


def check_source(text: str) -> Wrong | None:
    """A place that artifacts come from; what lies there is seen when it is opened."""
    if text == "vendor" or text.startswith("/"):
        return None
    if text.startswith("oci-layout:"):
        path = text.removeprefix("oci-layout:")
        return None if path.startswith("/") else Wrong("does not name an absolute path")
    scheme, separator, rest = text.partition("://")
    if not separator:
        return Wrong(
            "is not a place of artifacts",
            hint="write https://HOST/PATH, oci://HOST/REPOSITORY, oci-layout:/DIR, an absolute path, or "
            "vendor",
        )
    if scheme == "file":
        return None if rest.startswith("/") else Wrong("does not name an absolute path")
    return _check_url(text, ("http", "https", "oci", "oci+http"))


def check_address(text: str) -> Wrong | None:
    """An address that a node can be reached at."""
    from ipaddress import ip_address

    try:
        address = ip_address(text)
    except ValueError:
        return Wrong("is not an IP address")
    if "%" in text:
        return Wrong("names an interface of one machine", hint="leave out the part from % on")
    if address.is_loopback or address.is_unspecified or address.is_multicast or address.is_link_local:
        return Wrong("is no address that others can reach")
    return None


def check_network(text: str) -> Wrong | None:
    """One network in CIDR notation, or one of each family, separated by a comma."""
    from ipaddress import ip_network

    networks = []
    for part in text.split(","):
        try:
            if "/" not in part:
                raise ValueError
            networks.append(ip_network(part, strict=False))
        except ValueError:
            return Wrong("is not a network in CIDR notation", hint="write e.g. 10.244.0.0/16")
        if str(networks[-1]) != part.lower():
            return Wrong("has bits set beyond its prefix, or is oddly written", hint=f"write {networks[-1]}")
    if len(networks) > 2 or len({network.version for network in networks}) != len(networks):
        return Wrong("names more than one network of a family")
    return None


def check_no_proxy(entry: str) -> Wrong | None:
    """An entry of NO_PROXY: a host, a domain, an address or a network; with a port or not."""
    if re.search(r"[\s,]", entry):
        return Wrong("is more than one entry", hint="write a list, one entry each")
    if "://" in entry:
        return Wrong("is a URL", hint="write the host alone")
    return None


def _check_url(url: str, schemes: tuple[str, ...]) -> Wrong | None:
    parts = _split(url)
    wanted = " or ".join(f"{scheme}://" for scheme in schemes)
    if parts is None or not parts.scheme or not parts.netloc:
        return Wrong("is not a URL", hint=f"it begins with {wanted}")
    if parts.scheme not in schemes:
        return Wrong(f"is not a URL that begins with {wanted}")
    if not _is_host(parts.hostname or ""):
        return Wrong("names no host")
    return None


def _split(url: str) -> SplitResult | None:
    from urllib.parse import urlsplit

    if re.search(r"[\s\x00-\x1f\x7f\\]", url):
        return None
    try:
        parts = urlsplit(url)
        if parts.port == 0:
            return None
    except ValueError:
        return None
    return parts


def _is_host(host: str) -> bool:
    from ipaddress import ip_address

    try:
        ip_address(host)
    except ValueError:
        labels = host.split(".")
        # Digits and dots alone are an address that somebody mistyped, never a name.
        return bool(_HOST.fullmatch(host)) and ".." not in host and not labels[-1].isdigit()
    return True
