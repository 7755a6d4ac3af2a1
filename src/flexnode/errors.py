"""Failure as a value: what every failure that reaches a user carries.

FlexError
├── UsageError      the command line or a value in it is wrong          (exit 2)
├── ConfigError     the configuration is invalid, or cannot be read      config (exit 2)
├── CommandError    a program on the machine failed                      host
├── HostError       the machine lacks something, or refuses a change     host, package, runtime
├── CatalogError    a component, version or digest is not in the catalog catalog
├── ArtifactError   a file could not be fetched, or is not the right one artifacts
├── KubeError       the Kubernetes API refused, or could not be asked    kube
├── StateError      what is kept about the machine cannot be used        state
└── GenerationError a node could not be brought to a generation          generation

The class says which domain failed; whether a retry can help is an attribute, decided once where the foreign
error is translated. `code` is stable: scripts and dashboards match on it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """Whether trying again, with nothing changed, can help."""

    TRANSIENT = "transient"
    TERMINAL = "terminal"


class FlexError(Exception):
    """A failure with a stable code, a kind, what happened, and what to do next."""

    exit_code: int | None = None  # set by a class whose exit code does not follow from its kind

    def __init__(
        self,
        message: str,
        *,
        code: str,
        transient: bool = False,
        hint: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.kind = Kind.TRANSIENT if transient else Kind.TERMINAL
        self.hint = hint
        self.retry_after = retry_after

    @property
    def transient(self) -> bool:
        return self.kind is Kind.TRANSIENT

    def record(self) -> dict[str, Any]:
        """The failure as data: the same record goes to stderr, status and events."""
        return {"code": self.code, "kind": self.kind.value, "message": self.message, "hint": self.hint}


class UsageError(FlexError):
    """The user asked for something that does not exist or cannot be."""

    exit_code = 2

    def __init__(self, message: str, *, code: str = "usage/invalid", hint: str = "") -> None:
        super().__init__(message, code=code, hint=hint)


class ConfigError(FlexError):
    """The configuration is invalid or incomplete, or cannot be read."""

    exit_code = 2


class CommandError(FlexError):
    """A program on the machine failed, is missing, or took too long."""


class HostError(FlexError):
    """The machine lacks what was asked for, or refuses a change."""


class CatalogError(FlexError):
    """The catalog does not know what was asked for, or is itself not acceptable."""


class ArtifactError(FlexError):
    """A file could not be fetched, or is not the file that the catalog names."""


class KubeError(FlexError):
    """The Kubernetes API could not be asked, or what it answered is a refusal."""


class StateError(FlexError):
    """What the product keeps about its machine cannot be read, written or locked."""


class GenerationError(FlexError):
    """A machine could not be brought to a generation, or may not be."""


def exit_code(error: FlexError) -> int:
    """The process exit code that the contract gives this failure."""
    if error.exit_code is not None:
        return error.exit_code
    return 75 if error.transient else 1
