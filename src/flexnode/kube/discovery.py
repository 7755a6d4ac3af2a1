"""What a cluster says about itself without being asked for rights: its version, and whether it is ready."""

from __future__ import annotations

import re

import msgspec

from flexnode.errors import KubeError
from flexnode.kube.failures import Code, failure
from flexnode.kube.objects import ask
from flexnode.kube.request import Api, Request, with_body

SELF_REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

_MINOR = re.compile(r"v?(\d+)\.(\d+)")


class ServerVersion(msgspec.Struct, frozen=True, rename="camel"):
    """The API server's version: v1.29.3, or what a vendor makes of it (v1.29.2-eks-…, v1.29.1+k3s1)."""

    git_version: str

    @property
    def minor(self) -> tuple[int, int]:
        """Major and minor number, e.g. (1, 34)."""
        found = _MINOR.match(self.git_version)
        return (int(found[1]), int(found[2])) if found else (0, 0)


def read_version(api: Api) -> ServerVersion:
    """The version of the API server that answers."""
    return ask(api, Request(path="/version", timeout=10), ServerVersion)


def is_ready(api: Api) -> bool:
    """Whether the API server that answers says that it is ready.

    One that tells this only to those it knows counts as ready: it has been reached, and lets nobody in
    before it is. That nobody answers, or somebody else does, is raised.
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


class Identity(msgspec.Struct, frozen=True):
    """As whom the API server knows the caller."""

    username: str = ""
    groups: tuple[str, ...] = ()


class _ReviewStatus(msgspec.Struct, frozen=True, rename="camel"):
    user_info: Identity = Identity()


class _Review(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


def identify(api: Api) -> Identity:
    """As whom we come. Everybody whom the server knows may ask; a stranger is `kube/unauthorized`."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        answer = ask(api, with_body("POST", SELF_REVIEWS, review), _Review)
    except KubeError as error:
        # Anonymous callers are forbidden to ask where they are let in at all: they are strangers, too.
        if error.code == Code.FORBIDDEN:
            raise failure(Code.UNAUTHORIZED, error.message) from error
        raise
    return answer.status.user_info
