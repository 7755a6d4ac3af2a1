"""What one server knows: what it serves, which fault comes next, and what has happened so far."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from flexlab.artifact_server.faults import BadTls, Fault, FaultSource, no_faults
from flexnode.clock import Clock, SystemClock

REQUESTS_KEPT = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """A request that was answered, or harmed: `fault` is the kind of the fault that hit it."""

    method: str
    path: str
    range: str | None
    fault: str | None


@dataclass(kw_only=True, slots=True)
class State:
    """Shared by all connections, and by the plain and the encrypted port of one server."""

    store: Path
    faults: FaultSource = no_faults
    clock: Clock = field(default_factory=SystemClock)
    log: Callable[[str], None] = lambda _line: None
    stopping: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _hits: Counter[Fault] = field(default_factory=Counter)
    _requests: deque[Request] = field(default_factory=lambda: deque(maxlen=REQUESTS_KEPT))

    def take_fault(self, path: str, digest: str | None, *, body: bool) -> Fault | None:
        """The fault that hits this request, counted as a hit; None where all goes well."""
        return self._take(
            lambda fault: (
                not isinstance(fault, BadTls)
                and path.startswith(fault.path)
                and fault.digest in (None, digest)
                and (body or not fault.needs_body)
            )
        )

    def take_bad_tls(self) -> BadTls | None:
        """The fault that hits this handshake, counted as a hit."""
        fault = self._take(lambda fault: isinstance(fault, BadTls))
        return fault if isinstance(fault, BadTls) else None

    def _take(self, fits: Callable[[Fault], bool]) -> Fault | None:
        faults = self.faults()
        with self._lock:
            for fault in faults:
                if fits(fault) and (fault.times is None or self._hits[fault] < fault.times):
                    self._hits[fault] += 1
                    return fault
        return None

    def record(self, request: Request) -> None:
        with self._lock:
            self._requests.append(request)

    def hits(self, fault: Fault | None = None) -> int:
        """How often `fault` has hit; of all faults together by default."""
        with self._lock:
            return self._hits.total() if fault is None else self._hits[fault]

    def requests(self) -> tuple[Request, ...]:
        """The latest requests, oldest first."""
        with self._lock:
            return tuple(self._requests)

    def hits_by_id(self) -> dict[str, int]:
        """Hits of the faults that carry an id, for those who ask from another process."""
        with self._lock:
            return {fault.id: count for fault, count in self._hits.items() if fault.id}
