"""A name that does not exist is told from a name server that does not answer."""

from __future__ import annotations

import socket

import pytest

from flexnode.artifacts.names import resolve, unresolved
from flexnode.errors import ArtifactError


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_an_address_is_its_own_answer_once(address: str) -> None:
    assert resolve(address) == (address,)


def test_a_name_that_dns_cannot_carry_is_a_failure_and_no_crash() -> None:
    with pytest.raises(ArtifactError) as caught:
        resolve("a" * 70 + ".example")
    assert caught.value.code in ("artifact/bad-source", "artifact/dns-nxdomain")


@pytest.mark.parametrize(
    ("errno", "code"),
    [
        (socket.EAI_NONAME, "artifact/dns-nxdomain"),
        (socket.EAI_NODATA, "artifact/dns-nxdomain"),
        (socket.EAI_AGAIN, "artifact/dns-timeout"),
        (socket.EAI_FAIL, "artifact/dns-timeout"),
    ],
)
def test_what_the_resolver_says(errno: int, code: str) -> None:
    failure = unresolved(socket.gaierror(errno, "words of the resolver"), "its name")
    assert failure.code == code
    assert failure.transient
