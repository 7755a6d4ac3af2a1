"""kubeconfig files: the way to a cluster as kubectl and kubelet write it down."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import msgspec

from flexnode.errors import KubeError
from flexnode.kube.connection import (
    ClientCertificate,
    ClientCertificateFiles,
    Connection,
    Credential,
    TokenFile,
    parse_server,
)
from flexnode.kube.failures import Code, failure
from flexnode.secret import Secret


class _Cluster(msgspec.Struct, frozen=True, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class _User(msgspec.Struct, frozen=True, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    exec: dict[str, Any] | None = None
    auth_provider: dict[str, Any] | None = None
    username: str = ""
    impersonate: str = msgspec.field(default="", name="as")


class _Context(msgspec.Struct, frozen=True):
    cluster: str = ""
    user: str = ""


class _NamedCluster(msgspec.Struct, frozen=True):
    name: str
    cluster: _Cluster = _Cluster()


class _NamedUser(msgspec.Struct, frozen=True):
    name: str
    user: _User | None = None


class _NamedContext(msgspec.Struct, frozen=True):
    name: str
    context: _Context = _Context()


class _Kubeconfig(msgspec.Struct, frozen=True, rename="kebab"):
    current_context: str = ""
    clusters: tuple[_NamedCluster, ...] | None = None
    users: tuple[_NamedUser, ...] | None = None
    contexts: tuple[_NamedContext, ...] | None = None


class _Named(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=_Named)

_UNSUPPORTED = {
    "exec": "a credential program (exec)",
    "auth_provider": "an auth-provider",
    "username": "a user name and password",
    "impersonate": "another identity to act as (as)",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Reader:
    """Where a kubeconfig came from: for messages, and because paths in it are relative to it."""

    origin: str
    folder: Path

    def fault(self, what: str) -> KubeError:
        return failure(Code.BAD_KUBECONFIG, f"{self.origin}: {what}")

    def pick(self, what: str, entries: tuple[T, ...] | None, name: str) -> T:
        for entry in entries or ():
            if entry.name == name:
                return entry
        known = ", ".join(entry.name for entry in entries or ()) or "none"
        raise self.fault(f"there is no {what} {name!r} (there is: {known})")

    def decode(self, what: str, data: str) -> str:
        try:
            return b64decode("".join(data.split()), validate=True).decode()
        except ValueError as error:
            raise self.fault(f"{what} is not base64 of a text") from error

    def authority(self, cluster: _Cluster) -> str:
        if cluster.insecure_skip_tls_verify:
            raise failure(
                Code.KUBECONFIG_UNSUPPORTED,
                f"{self.origin}: it asks not to verify the server (insecure-skip-tls-verify)",
                hint="put the cluster's CA into certificate-authority-data and take that line out",
            )
        if cluster.certificate_authority_data:
            return self.decode("certificate-authority-data", cluster.certificate_authority_data)
        if not cluster.certificate_authority:
            return ""
        path = self.folder / cluster.certificate_authority
        try:
            return path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise self.fault(f"the CA {path} cannot be read: {error}") from error

    def proxy(self, cluster: _Cluster) -> Secret | None:
        if not cluster.proxy_url:
            return None
        try:
            parts = urlsplit(cluster.proxy_url)
            known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            known = False
        if not known:
            raise failure(
                Code.KUBECONFIG_UNSUPPORTED,
                f"{self.origin}: its proxy-url is not the address of an HTTP proxy",
                hint="a proxy is written http://HOST:PORT or https://HOST:PORT; no other kind is spoken here",
            )
        return Secret(cluster.proxy_url)

    def credential(self, user: _User) -> Credential | None:
        for field, words in _UNSUPPORTED.items():
            if getattr(user, field):
                raise failure(Code.KUBECONFIG_UNSUPPORTED, f"{self.origin}: its user needs {words}")
        # The file wins over the token beside it, as it does for kubectl: it is the one that gets renewed.
        if user.token_file:
            return TokenFile(path=self.folder / user.token_file)
        if user.token:
            return Secret(user.token)
        data = bool(user.client_certificate_data), bool(user.client_key_data)
        files = bool(user.client_certificate), bool(user.client_key)
        if all(data):
            return ClientCertificate(
                certificate=self.decode("client-certificate-data", user.client_certificate_data),
                key=Secret(self.decode("client-key-data", user.client_key_data)),
            )
        if all(files):
            return ClientCertificateFiles(
                certificate=self.folder / user.client_certificate, key=self.folder / user.client_key
            )
        if any((*data, *files)):
            raise self.fault("its user has a certificate without a key, or a key without a certificate")
        return None


def load_kubeconfig(path: Path, context: str = "") -> Connection:
    """The connection that a kubeconfig describes; in the current context unless another one is named."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise failure(
            Code.BAD_KUBECONFIG,
            f"{path} cannot be read: {error.strerror}",
            hint="name a kubeconfig with --kubeconfig, or in KUBECONFIG",
        ) from error
    return parse_kubeconfig(text, context, origin=str(path), folder=path.parent)


def parse_kubeconfig(
    text: bytes, context: str = "", *, origin: str = "kubeconfig", folder: Path | None = None
) -> Connection:
    """The connection in the text of a kubeconfig. No message quotes the text: it holds credentials."""
    reader = _Reader(origin=origin, folder=folder or Path())
    config = _decode(text, reader)
    name = context or config.current_context
    if not name:
        raise reader.fault("it names no current context")
    chosen = reader.pick("context", config.contexts, name).context
    cluster = reader.pick("cluster", config.clusters, chosen.cluster).cluster
    user = reader.pick("user", config.users, chosen.user).user if chosen.user else None
    return Connection(
        server=parse_server(cluster.server),
        ca=reader.authority(cluster),
        credential=None if user is None else reader.credential(user),
        proxy=reader.proxy(cluster),
        server_name=cluster.tls_server_name,
    )


def parse_only_cluster(text: bytes, *, origin: str) -> Connection:
    """The one cluster in a kubeconfig without users and contexts, which is what a cluster-info holds."""
    reader = _Reader(origin=origin, folder=Path())
    clusters = _decode(text, reader).clusters or ()
    if len(clusters) != 1 or not clusters[0].cluster.certificate_authority_data:
        raise reader.fault("it does not hold one cluster with its CA")
    cluster = clusters[0].cluster
    return Connection(server=parse_server(cluster.server), ca=reader.authority(cluster))


def _decode(text: bytes, reader: _Reader) -> _Kubeconfig:
    try:
        return msgspec.convert(_parse_text(text, reader), _Kubeconfig)
    except msgspec.ValidationError as error:
        raise reader.fault(f"it is not a kubeconfig: {error}") from error


def _parse_text(text: bytes, reader: _Reader) -> Any:
    try:
        return msgspec.json.decode(text)  # what kubelet and this product write; needs no parser of YAML
    except (msgspec.DecodeError, UnicodeDecodeError):
        import yaml
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" (line {mark.line + 1})"
        raise reader.fault(f"it is neither JSON nor YAML{where}") from None
