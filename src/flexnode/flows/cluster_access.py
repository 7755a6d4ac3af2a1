"""The way to a cluster that a person has: a kubeconfig, and the proxies of their environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from flexnode.artifacts import load_proxies
from flexnode.errors import UsageError
from flexnode.kube import Connection, load_kubeconfig

DEFAULT = Path(".kube", "config")


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """Which kubeconfig to use, in which of its contexts."""

    kubeconfig: Path | None = None
    context: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)


def load_access(access: Access) -> Connection:
    """The connection: through the kubeconfig's own proxy, else through the environment's, else directly."""
    connection = load_kubeconfig(find_kubeconfig(access), access.context)
    if connection.proxy is not None:
        return connection
    proxy = load_proxies(access.environ).find(connection.server)
    return connection if proxy is None else replace(connection, proxy=proxy.url)


def find_kubeconfig(access: Access) -> Path:
    """The file that was named, else the one of KUBECONFIG, else ~/.kube/config."""
    if access.kubeconfig is not None:
        return access.kubeconfig
    named = [part for part in access.environ.get("KUBECONFIG", "").split(":") if part]
    if len(named) > 1:
        raise UsageError(
            f"KUBECONFIG names {len(named)} files, and they are not merged here",
            hint="name the one to use with --kubeconfig",
        )
    if named:
        return Path(named[0])
    home = access.environ.get("HOME", "")
    path = Path(home) / DEFAULT
    if not home or not path.is_file():
        raise UsageError(
            f"there is no kubeconfig: neither KUBECONFIG is set nor is there a {path}",
            hint="name one with --kubeconfig",
        )
    return path
