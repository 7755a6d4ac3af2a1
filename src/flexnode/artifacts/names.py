"""Host names to addresses, by the machine's own resolver, and what it means when that fails."""

from __future__ import annotations

import socket

from flexnode.artifacts.failures import Code, failure
from flexnode.errors import ArtifactError


def resolve(host: str) -> tuple[str, ...]:
    """The addresses of `host`, each once, in the resolver's order."""
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise unresolved(error, "its name") from error
    except UnicodeError as error:  # a name that DNS cannot carry
        raise failure(Code.BAD_SOURCE, f"not a host name: {error}") from error
    return tuple(dict.fromkeys(str(address[0]) for *_, address in answers))


def unresolved(error: socket.gaierror, whose: str) -> ArtifactError:
    """The failure behind what the resolver says about `whose`: a name that is not there, or no answer."""
    if error.errno in (socket.EAI_NONAME, socket.EAI_NODATA):
        return failure(Code.DNS_NXDOMAIN, f"{whose} does not exist in DNS")
    # EAI_AGAIN is a name server that does not answer; anything else (EAI_SYSTEM, EAI_FAIL) may pass as well.
    return failure(Code.DNS_TIMEOUT, f"{whose} could not be looked up: {error.strerror}")
