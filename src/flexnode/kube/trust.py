"""Finding a cluster's CA without knowing it: a signed cluster-info, a pinned hash of the CA's key, or both.

The first question goes to whoever answers at the server's address, so nothing of the answer is believed
until it proves itself: by a signature that only who knows the bootstrap token can make (a JWS with
HMAC-SHA256, as kubeadm and the bootstrap signer write it), or by a public key whose hash we were given. Then
the same question is asked again over a connection that trusts nothing but that CA.
"""

from __future__ import annotations

import hmac
import re
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass, replace
from ssl import DER_cert_to_PEM_cert

import msgspec

from flexnode.clock import Clock
from flexnode.kube.client import KubeClient
from flexnode.kube.connection import Connection, parse_server
from flexnode.kube.failures import Code, failure
from flexnode.kube.kubeconfig import parse_only_cluster
from flexnode.kube.objects import decode
from flexnode.kube.pem import parse_certificates
from flexnode.kube.request import Request
from flexnode.kube.tokens import split_token
from flexnode.kube.translate import Asked, looks_like_page, translate_error, translate_status
from flexnode.kube.unverified import ask_unverified
from flexnode.kube.x509 import parse_certificate
from flexnode.secret import Secret

CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"

SIGNING_DELAYS = (1.0, 2.0, 4.0)
"""A token that was made this moment is signed with a second or two later."""

_REQUEST = Request(path=CLUSTER_INFO)
_PIN = re.compile(r"sha256:[0-9a-f]{64}")


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] | None = None


class _Header(msgspec.Struct, frozen=True):
    alg: str = ""
    kid: str = ""
    b64: bool = True  # false is an extension that signs something else than we would check
    crit: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """What a CA can be recognised by; at least one of the two. With both, both must hold."""

    token: Secret | None = None
    pins: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Discovered:
    """A cluster's CA (PEM), proven; and the address that the cluster gives for itself."""

    ca: str
    server: str


def parse_pin(text: str) -> str:
    """A CA hash: `sha256:` and 64 hex digits."""
    pin = text.strip().lower()
    if not _PIN.fullmatch(pin):
        raise failure(
            Code.CA_UNVERIFIED,
            f"{text!r} is not the hash of a CA's public key",
            hint="a CA hash is sha256: and 64 hex digits, as `kubeadm join` takes it",
        )
    return pin


def discover_authority(connection: Connection, proof: Proof, clock: Clock) -> Discovered:
    """The CA of the cluster behind `connection`, whose own CA and credential are not used."""
    if proof.token is None and not proof.pins:
        raise failure(Code.CA_UNVERIFIED, "neither a bootstrap token nor a CA hash proves whose CA it is")
    start = replace(connection, server=parse_server(connection.server), ca="", credential=None)
    if proof.token is None:
        kubeconfig = _read_claim(start, clock).get("kubeconfig", "")
    else:
        kubeconfig = _wait_until_signed(start, proof.token, clock)
    claimed = parse_only_cluster(kubeconfig.encode(), origin="the cluster's cluster-info")
    ca = select_pinned(claimed.ca, proof.pins) if proof.pins else claimed.ca
    with KubeClient(replace(start, ca=ca), clock) as client:
        again = decode(client.send(_REQUEST), _ConfigMap, _REQUEST)
    if (again.data or {}).get("kubeconfig") != kubeconfig:
        raise failure(Code.CA_UNVERIFIED, "the server shows another cluster-info to those who trust its CA")
    return Discovered(ca=ca, server=claimed.server)


def select_pinned(ca: str, pins: Iterable[str]) -> str:
    """Those certificates of `ca` whose public key is pinned: what stands beside a known CA is not trusted."""
    wanted = {parse_pin(pin) for pin in pins}
    try:
        found = [der for der in parse_certificates(ca) if parse_certificate(der).public_key_hash in wanted]
    except ValueError as error:
        raise failure(Code.CA_UNVERIFIED, f"the CA that the server shows cannot be read: {error}") from error
    if not found:
        raise failure(Code.CA_UNVERIFIED, "the CA that the server shows is none of those that were pinned")
    return "".join(DER_cert_to_PEM_cert(der) for der in found)


def check_signature(kubeconfig: str, signature: str, token: Secret) -> None:
    """Raise unless whoever wrote `kubeconfig` knows the token; `signature` is a JWS without its payload."""
    identifier, key = split_token(token)
    header, payload, signed = [*signature.split("."), "", ""][:3]
    try:
        said = msgspec.json.decode(_decode(header), type=_Header)
        given = _decode(signed)
    except (ValueError, msgspec.DecodeError) as error:
        raise failure(Code.CA_UNVERIFIED, "the signature of the cluster-info cannot be read") from error
    if payload or signature.count(".") != 2 or said != _Header(alg="HS256", kid=identifier):
        raise failure(Code.CA_UNVERIFIED, "the signature of the cluster-info is of an unknown kind")
    message = f"{header}.{_encode(kubeconfig.encode())}".encode()
    if not hmac.compare_digest(hmac.digest(key.reveal().encode(), message, "sha256"), given):
        raise failure(
            Code.CA_UNVERIFIED, "the cluster-info is not signed with this token: its secret half is wrong"
        )


def _wait_until_signed(start: Connection, token: Secret, clock: Clock) -> str:
    """The cluster-info, its signature checked."""
    identifier, _ = split_token(token)
    for delay in (*SIGNING_DELAYS, None):
        data = _read_claim(start, clock)
        signature = data.get(f"jws-kubeconfig-{identifier}")
        if signature is not None:
            kubeconfig = data.get("kubeconfig", "")
            check_signature(kubeconfig, signature, token)
            return kubeconfig
        if delay is not None:
            clock.sleep(delay)
    raise failure(
        Code.TOKEN_UNKNOWN,
        f"the cluster does not know the bootstrap token {identifier}: it is wrong, or has expired",
    )


def _read_claim(start: Connection, clock: Clock) -> dict[str, str]:
    """What whoever answers says that cluster-info is."""
    import httpx

    asked = Asked(connection=start, clock=clock, what=str(_REQUEST))
    try:
        claim = ask_unverified(start, CLUSTER_INFO)
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
        raise translate_error(error, asked) from error
    if claim.status in (401, 403, 404) and not looks_like_page(claim.body, {}):
        raise failure(
            Code.NO_CLUSTER_INFO, f"{start.server} shows no cluster-info to strangers (HTTP {claim.status})"
        )
    if claim.status != 200 or looks_like_page(claim.body, {}):
        raise translate_status(claim.status, {}, claim.body, asked)
    return decode(claim.body, _ConfigMap, _REQUEST).data or {}


def _decode(text: str) -> bytes:
    # Strict: characters outside the alphabet would otherwise be skipped.
    return b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).decode("ascii").rstrip("=")
