"""The operations that the agent performs: the flows that a person starts from the command line, too."""

from __future__ import annotations

import ctypes
import gc
import resource
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from flexnode.config import Resolved
from flexnode.flows.workplace import Workplace
from flexnode.generation.outcome import Outcome
from flexnode.generation.plan import Plan
from flexnode.model.spec import NodeSpec


class Work(Protocol):
    """Each of them raises a FlexError, or answers an outcome. `spec`: where secrets are, if that is known."""

    def plan(self, resolved: Resolved) -> Plan: ...
    def bootstrap(self, resolved: Resolved) -> Outcome: ...
    def recover(self, spec: NodeSpec | None) -> Outcome | None: ...
    def find_differences(self, spec: NodeSpec | None) -> Plan: ...
    def examine(self, spec: NodeSpec | None) -> Plan: ...
    def put_back(self, spec: NodeSpec | None, seconds: float) -> Outcome: ...
    def release(self, spec: NodeSpec | None, seconds: float) -> Outcome: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Flows:
    """The real `Work`. What an operation takes is imported when there is one."""

    workplace: Workplace

    def plan(self, resolved: Resolved) -> Plan:
        from flexnode.flows.planning import plan_bootstrap

        return plan_bootstrap(resolved, self.workplace)

    def bootstrap(self, resolved: Resolved) -> Outcome:
        from flexnode.flows.bootstrap import BootstrapOptions, bootstrap

        return bootstrap(resolved, self.workplace, BootstrapOptions())

    def recover(self, spec: NodeSpec | None) -> Outcome | None:
        from flexnode.flows.going_back import recover

        return recover(self.workplace, spec=spec)

    def find_differences(self, spec: NodeSpec | None) -> Plan:
        from flexnode.flows.keeping import find_differences

        return find_differences(self.workplace, spec=spec)

    def examine(self, spec: NodeSpec | None) -> Plan:
        from flexnode.flows.keeping import examine

        return examine(self.workplace, spec=spec)

    def put_back(self, spec: NodeSpec | None, seconds: float) -> Outcome:
        from flexnode.flows.keeping import put_back

        return put_back(self.workplace, seconds=seconds, spec=spec)

    def release(self, spec: NodeSpec | None, seconds: float) -> Outcome:
        from flexnode.flows.keeping import release

        return release(self.workplace, seconds=seconds, spec=spec)


GROWN = 40 * 1024 * 1024
"""Bytes. What the agent holds at rest is less, and after most operations more."""


def has_grown() -> bool:
    """Whether this process holds more memory than an agent at rest needs."""
    resident = int(Path("/proc/self/statm").read_text().split()[1])
    return resident * resource.getpagesize() > GROWN


def give_memory_back() -> None:
    """After an operation: what it took is free, and the C library would keep it for the next one."""
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)
