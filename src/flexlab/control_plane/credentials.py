"""Keys, certificates, kubeconfigs and the bootstrap token of a lab's cluster."""

from __future__ import annotations

import base64
import json
import os
import secrets
import string
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

from flexlab.lab import Lab
from flexlab.model import API_PORT, API_SERVER, DOMAIN, SERVICE_NETWORK
from flexlab.pki import (
    CertificateAuthority,
    Identity,
    KeyPair,
    Usage,
    ensure_authority,
    write_signing_key,
)
from flexnode.secret import Secret

API_URL = f"https://{API_SERVER}:{API_PORT}"


@dataclass(frozen=True, kw_only=True, slots=True)
class User:
    """Somebody with a kubeconfig: as whom the API server knows them."""

    name: str
    group: str = ""


ADMIN = User(name="lab-admin", group="system:masters")
CONTROLLER_MANAGER = User(name="system:kube-controller-manager")
SCHEDULER = User(name="system:kube-scheduler")
CLOUD_IDENTITY = Identity(common_name="cloud-controller", organizations=(ADMIN.group,))


def ensure_credentials(lab: Lab) -> None:
    """Make what is missing; what is there stays, so that nodes keep trusting a restarted cluster."""
    authority = ensure_authority(lab.pki, "flexlab-kubernetes")
    _ensure_certificate(authority, lab.pki, "api-server", _api_server_identity())
    client = Identity(common_name="kube-apiserver-kubelet-client", organizations=("system:masters",))
    _ensure_certificate(authority, lab.pki, "kubelet-client", client)
    if not (lab.pki / "service-accounts.pub").exists():
        write_signing_key(lab.pki, "service-accounts")
    ensure_kubeconfig(lab, ADMIN, lab.admin_kubeconfig)
    _ensure_certificate(authority, lab.pki, "cloud-controller", CLOUD_IDENTITY)
    for user in (CONTROLLER_MANAGER, SCHEDULER):
        ensure_kubeconfig(lab, user, kubeconfig_path(lab, user))
    token = _token_file(lab)
    if not token.exists():
        write_private(token, _make_token().encode())


def ensure_kubeconfig(lab: Lab, user: User, path: Path) -> None:
    """Write a kubeconfig with a client certificate of `user`, unless there is one."""
    if path.exists():
        return
    authority = ensure_authority(lab.pki, "flexlab-kubernetes")
    groups = (user.group,) if user.group else ()
    pair = authority.issue(Identity(common_name=user.name, organizations=groups))
    write_private(path, render_kubeconfig(lab.name, authority, pair).encode())


def render_kubeconfig(cluster: str, authority: CertificateAuthority, pair: KeyPair) -> str:
    """A kubeconfig that names no other file."""
    server = {"server": API_URL, "certificate-authority-data": encode(authority.certificate)}
    client = {
        "client-certificate-data": encode(pair.certificate),
        "client-key-data": encode(pair.key.reveal().encode()),
    }
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": cluster, "cluster": server}],
            "users": [{"name": "user", "user": client}],
            "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": "user"}}],
            "current-context": cluster,
        },
        indent=2,
    )


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def kubeconfig_path(lab: Lab, user: User) -> Path:
    return lab.control_plane / f"{user.name.replace(':', '-')}.kubeconfig"


def read_bootstrap_token(lab: Lab) -> Secret:
    """The token with which machines of this lab may join."""
    return Secret(_token_file(lab).read_text().strip())


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only root may read, from its first byte on."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
    os.replace(draft, path)


def _ensure_certificate(authority: CertificateAuthority, folder: Path, name: str, identity: Identity) -> None:
    if not (folder / f"{name}.crt").exists():
        authority.issue(identity).write(folder, name)


def _api_server_identity() -> Identity:
    names = ["kubernetes"]
    for part in ("default", "svc", "cluster", "local"):
        names.append(f"{names[-1]}.{part}")
    return Identity(
        common_name="kube-apiserver",
        dns_names=(*names, f"api.{DOMAIN}", "localhost"),
        addresses=(API_SERVER, SERVICE_NETWORK[1], IPv4Address("127.0.0.1")),
        usages=(Usage.SERVER,),
    )


def _token_file(lab: Lab) -> Path:
    return lab.control_plane / "bootstrap-token"


def _make_token() -> str:
    alphabet = string.ascii_lowercase + string.digits

    def draw(length: int) -> str:
        return "".join(secrets.choice(alphabet) for _ in range(length))

    return f"{draw(6)}.{draw(16)}"
