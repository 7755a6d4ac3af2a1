"""The container runtime, asked over its own socket in the protocol that kubelet speaks with it (CRI v1)."""

from flexnode.host.cri.client import CriClient
from flexnode.host.cri.runtime import CriRuntime

__all__ = ["CriClient", "CriRuntime"]
