"""What can be made to go wrong at the gateway. The daemon reads the file anew for each request."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path

import msgspec


class DnsFault(StrEnum):
    """How names fail to resolve."""

    TIMEOUT = "timeout"
    NXDOMAIN = "nxdomain"
    SERVFAIL = "servfail"


class ProxyFault(StrEnum):
    """How the proxy fails: it closes the connection, or asks for a password."""

    REFUSE = "refuse"
    AUTH = "auth"


class GatewayFaults(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """None means that a service works. `clock_seconds` is how far off the time is that the gateway serves."""

    dns: DnsFault | None = None
    proxy: ProxyFault | None = None
    metadata: bool = False  # the metadata service answers 503
    clock_seconds: float = 0


def load_faults(folder: Path) -> GatewayFaults:
    """The faults in force at the gateway whose folder this is."""
    try:
        return msgspec.json.decode((folder / "faults.json").read_bytes(), type=GatewayFaults)
    except FileNotFoundError:
        return GatewayFaults()


def save_faults(folder: Path, faults: GatewayFaults) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / "faults.json.new"
    draft.write_bytes(msgspec.json.encode(faults))
    os.replace(draft, folder / "faults.json")
