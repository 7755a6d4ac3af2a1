"""NO_PROXY means what it means to the rest of a cluster."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.artifacts.proxies import load_proxies, parse_no_proxy, parse_proxy, redact
from flexnode.errors import ArtifactError

PROXY = "http://proxy.example:3128"


def goes_direct(no_proxy: str, url: str) -> bool:
    return load_proxies({"HTTP_PROXY": PROXY, "HTTPS_PROXY": PROXY, "NO_PROXY": no_proxy}).find(url) is None


@pytest.mark.parametrize(
    ("no_proxy", "url", "direct"),
    [
        ("", "https://host.example/x", False),
        ("*", "https://host.example/x", True),
        ("host.example", "https://host.example/x", True),
        ("HOST.example.", "https://host.EXAMPLE/x", True),
        ("host.example", "https://a.host.example/x", True),
        ("host.example", "https://nothost.example/x", False),
        (".host.example", "https://a.host.example/x", True),
        (".host.example", "https://host.example/x", False),
        ("*.host.example", "https://a.b.host.example/x", True),
        ("host.example:8443", "https://host.example:8443/x", True),
        ("host.example:8443", "https://host.example/x", False),
        ("host.example:443", "https://host.example/x", True),
        ("10.0.0.0/8", "https://10.1.2.3/x", True),
        ("10.0.0.0/8", "https://11.1.2.3/x", False),
        ("10.0.0.0/8", "https://ten.example/x", False),
        ("10.1.2.3", "http://10.1.2.3:5000/x", True),
        ("10.1.2.3:5000", "http://10.1.2.3:5000/x", True),
        ("10.1.2.3:5000", "http://10.1.2.3/x", False),
        ("fd00::/8", "https://[fd00::1]/x", True),
        ("[fd00::1]:443", "https://[fd00::1]/x", True),
        ("fd00::1", "https://[fd00::2]/x", False),
        ("a.example, b.example c.example", "https://c.example/x", True),
        ("svc.cluster.local,10.96.0.0/12", "https://10.111.0.9/x", True),
        ("", "http://localhost:5000/x", True),
        ("", "http://127.0.0.9/x", True),
        ("", "http://[::1]/x", True),
    ],
)
def test_no_proxy(no_proxy: str, url: str, direct: bool) -> None:
    assert goes_direct(no_proxy, url) is direct


@given(st.text(max_size=60))
def test_no_text_in_no_proxy_is_a_crash(text: str) -> None:
    for exemption in parse_no_proxy(text):
        exemption.covers("host.example", 443)
        exemption.covers("10.0.0.1", 80)


@given(st.integers(0, 2**32 - 1), st.integers(0, 32), st.integers(0, 2**32 - 1))
def test_a_network_covers_exactly_its_addresses(base: int, prefix: int, other: int) -> None:
    network = ip_network((base, prefix), strict=False)
    address = IPv4Address(other)
    expected = address in network or address.is_loopback
    assert goes_direct(str(network), f"https://{address}/") is expected


labels = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True).filter(
    lambda text: text != "localhost"
)


@given(st.lists(labels, min_size=1, max_size=3), st.lists(labels, min_size=1, max_size=3))
def test_a_domain_covers_itself_and_everything_below_and_nothing_else(
    domain: list[str], host: list[str]
) -> None:
    covered = host[-len(domain) :] == domain
    assert goes_direct(".".join(domain), f"https://{'.'.join(host)}/") is covered


def test_the_lower_case_name_wins() -> None:
    proxies = load_proxies({"https_proxy": "http://a:1", "HTTPS_PROXY": "http://b:1"})
    assert str(proxies.https) == "http://a:1"


def test_all_proxy_stands_in_for_what_is_not_set() -> None:
    proxies = load_proxies({"ALL_PROXY": "all.example:1", "HTTP_PROXY": "http.example:2"})
    assert (str(proxies.http), str(proxies.https)) == ("http://http.example:2", "http://all.example:1")


def test_a_proxy_never_shows_its_password() -> None:
    proxy = parse_proxy("http://user:hunter2@proxy.example:3128")
    assert "hunter2" not in f"{proxy} {proxy!r}"
    assert str(proxy) == "http://proxy.example:3128"


@given(st.text(alphabet="abc:/@%#?[]", max_size=20))
def test_redacting_never_keeps_what_stands_before_the_host(text: str) -> None:
    assert "hunter2" not in redact(f"https://user:hunter2@{text}")


@pytest.mark.parametrize("text", ["socks5://proxy:1080", "http://", "http://proxy:port", "ftp://x"])
def test_what_is_not_an_http_proxy_is_refused(text: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        parse_proxy(text)
    assert caught.value.code == "artifact/proxy-invalid"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://user:hun/ter2@proxy.example:3128", "http://proxy.example:3128"),
        ("http://user:/hunter2@proxy.example/x", "http://proxy.example/x"),
        ("user:hun/ter2@proxy.example", "proxy.example"),
        ("https://host.example:8443/a@b", "https://host.example:8443/a@b"),
        ("https://[fd00::1]/a@b", "https://[fd00::1]/a@b"),
        ("https://user:hunter2@host.example/a@b", "https://host.example/a@b"),
    ],
)
def test_a_slash_that_was_not_quoted_does_not_show_the_rest_of_a_password(url: str, shown: str) -> None:
    assert redact(url) == shown


def test_a_proxy_that_is_none_is_told_without_its_password() -> None:
    with pytest.raises(ArtifactError) as caught:
        parse_proxy("http://user:hun/ter2@proxy.example:3128")
    assert "ter2" not in caught.value.message
