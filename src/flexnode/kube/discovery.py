"""What a cluster says about itself without being asked for rights: its version, and whether it is ready."""

from __future__ import annotations

import re

import msgspec

from flexnode.errors import KubeError
from flexnode.kube.failures import Code
from flexnode.kube.objects import ask
from flexnode.kube.request import Api, Request

_MINOR = re.compile(r"v?(\d+)\.(\d+)")


class ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    """The API server's version: v1.34.4, or what a vendor makes of it (v1.33.2-eks-…, v1.34.1+k3s1)."""

    git_version: str

    @property
    def minor(self) -> tuple[int, int]:
        """Major and minor number, e.g. (1, 34)."""
        found = _MINOR.match(self.git_version)
        return (int(found[1]), int(found[2])) if found else (0, 0)


def read_version(api: Api) -> ServerVersion:
    """The version of the API server that answers."""
    return ask(api, Request(path="/version", timeout=10), ServerVersion)


def is_reachable(api: Api) -> bool:
    """Whether an API server is there and says that it is ready.

    One that answers only to those it knows has been reached all the same. That it cannot be reached, or that
    something else answers, is raised.
    """
    try:
        api.send(Request(path="/readyz", timeout=10))
    except KubeError as error:
        if error.code in (Code.UNAUTHORIZED, Code.FORBIDDEN):
            return True
        if error.code == Code.SERVER_ERROR:
            return False
        raise
    return True
