"""How servers are reached. Not beside the client, so that settings can be made without importing it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from flexnode.artifacts.proxies import Proxies
from flexnode.secret import Secret


@dataclass(frozen=True, kw_only=True, slots=True)
class HttpSettings:
    """How to reach servers. `idle_timeout` is how long one may send nothing, in seconds."""

    proxies: Proxies = field(default_factory=Proxies)
    ca_bundle: Path | None = None
    connect_timeout: float = 10.0
    idle_timeout: float = 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Login:
    """User and password of a source, taken out of its address so that no message can show them."""

    user: str
    password: Secret
