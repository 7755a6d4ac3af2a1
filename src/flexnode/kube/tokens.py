"""Bootstrap tokens: what lets a machine that the cluster does not know yet ask for its certificate."""

from __future__ import annotations

import re
import secrets
import string
from base64 import b64decode
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from flexnode.clock import Clock
from flexnode.errors import KubeError, UsageError
from flexnode.kube.failures import Code
from flexnode.kube.objects import Listing, Meta, list_all
from flexnode.kube.request import Api, Request, object_path, with_body
from flexnode.kube.time_format import render_time
from flexnode.secret import Secret

SECRETS = "/api/v1/namespaces/kube-system/secrets"
TOKEN_TYPE = "bootstrap.kubernetes.io/token"  # noqa: S105 the type of a Secret
BOOTSTRAP_GROUP = "system:bootstrappers:flexnode"
"""Whom `cluster setup` gives the rights of a machine that joins: those who come with a token made here."""

DRAWS = 5

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_IDENTIFIER = re.compile(r"[a-z0-9]{6}")
_ALPHABET = string.ascii_lowercase + string.digits


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenInfo:
    """A bootstrap token without its secret half."""

    identifier: str
    expires: datetime | None  # None: never
    description: str = ""
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class NewToken:
    """A token that was just made: the only moment at which it is whole."""

    token: Secret
    info: TokenInfo


class _TokenSecret(msgspec.Struct, frozen=True):
    metadata: Meta = Meta()
    type: str = ""
    data: dict[str, str] | None = None


def split_token(token: Secret) -> tuple[str, Secret]:
    """The public and the secret half of a bootstrap token. No message quotes it."""
    found = _TOKEN.fullmatch(token.reveal().strip())
    if found is None:
        raise UsageError(
            "the bootstrap token does not have the form of one",
            code="kube/bad-token",
            hint="a bootstrap token is six letters or digits, a dot, and sixteen of them, in lower case",
        )
    return found[1], Secret(found[2])


def draw_token() -> Secret:
    """A token that nobody can guess."""

    def draw(length: int) -> str:
        return "".join(secrets.choice(_ALPHABET) for _ in range(length))

    return Secret(f"{draw(6)}.{draw(16)}")


def create_token(
    api: Api,
    *,
    clock: Clock,
    ttl: timedelta | None,
    description: str = "",
    groups: Iterable[str] = (BOOTSTRAP_GROUP,),
) -> NewToken:
    """Make a bootstrap token known to the cluster. `ttl` None: it never expires."""
    expires = None if ttl is None else (clock.now() + ttl).replace(microsecond=0)
    for attempt in range(DRAWS):
        token = draw_token()
        identifier, _ = split_token(token)
        info = TokenInfo(
            identifier=identifier, expires=expires, description=description, groups=tuple(groups)
        )
        try:
            api.send(with_body("POST", SECRETS, compose_secret(token, info)))
        except KubeError as error:
            # Two billion identifiers: a second collision in a row is not chance.
            if error.code != Code.ALREADY_EXISTS or attempt == DRAWS - 1:
                raise
        else:
            return NewToken(token=token, info=info)
    raise AssertionError("unreachable")


def compose_secret(token: Secret, info: TokenInfo) -> dict[str, object]:
    """The Secret that makes a token valid. Signing, too: a node can then check the CA with its token."""
    identifier, secret = split_token(token)
    data = {
        "token-id": identifier,
        "token-secret": secret.reveal(),
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": ",".join(info.groups),
        "description": info.description,
    }
    if info.expires is not None:
        data["expiration"] = render_time(info.expires)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": TOKEN_TYPE,
        "metadata": {"name": _name(identifier), "namespace": "kube-system"},
        "stringData": {key: value for key, value in data.items() if value},
    }


def list_tokens(api: Api) -> tuple[TokenInfo, ...]:
    """The bootstrap tokens that the cluster knows, the next one to expire first."""
    found, _ = list_all(api, SECRETS, Listing[_TokenSecret], {"fieldSelector": f"type={TOKEN_TYPE}"})
    return tuple(sorted((_view(each) for each in found), key=_by_expiry))


def delete_token(api: Api, identifier: str) -> None:
    """Take a token away, by its public half or as a whole. Nodes that joined with it stay."""
    public = identifier.strip().partition(".")[0]
    if not _IDENTIFIER.fullmatch(public):
        raise UsageError(
            "that is not the identifier of a bootstrap token",
            code="kube/bad-token",
            hint="an identifier is the six letters or digits before the dot",
        )
    api.send(Request(method="DELETE", path=object_path(SECRETS, _name(public))))


def _by_expiry(token: TokenInfo) -> tuple[bool, str, str]:
    moment = "" if token.expires is None else render_time(token.expires)
    return token.expires is None, moment, token.identifier


def _name(identifier: str) -> str:
    return f"bootstrap-token-{identifier}"


def _view(found: _TokenSecret) -> TokenInfo:
    def value(key: str) -> str:
        try:
            return b64decode((found.data or {}).get(key, ""), validate=True).decode()
        except ValueError:  # somebody else's Secret; it is shown as far as it can be read
            return ""

    try:
        expires = datetime.fromisoformat(value("expiration"))
    except ValueError:
        expires = None
    groups = tuple(group for group in value("auth-extra-groups").split(",") if group)
    identifier = value("token-id") or found.metadata.name.removeprefix("bootstrap-token-")
    return TokenInfo(identifier=identifier, expires=expires, description=value("description"), groups=groups)
