"""What lets a node into its cluster. Code that makes images cannot import this module."""

from __future__ import annotations

from dataclasses import dataclass

from flexnode.secret import Secret


@dataclass(frozen=True, kw_only=True, slots=True)
class ServicePrincipal:
    """An application of Entra ID."""

    tenant_id: str
    client_id: str
    client_secret: Secret


@dataclass(frozen=True, kw_only=True, slots=True)
class ManagedIdentity:
    """The identity that Azure gave the machine; `client_id` chooses among several."""

    client_id: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ArcIdentity:
    """The identity that Azure Arc gives the machine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Credentials:
    """A bootstrap token, and at most one way into Azure (None: the Azure CLI's login)."""

    bootstrap_token: Secret | None = None
    azure: ServicePrincipal | ManagedIdentity | ArcIdentity | None = None
    http_proxy: Secret | None = None  # a proxy URL with a password in it
    https_proxy: Secret | None = None
