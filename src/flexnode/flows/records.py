"""What an operation leaves to be read later: the event log, and how the last bootstrap went."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from flexnode.clock import Clock
from flexnode.errors import FlexError
from flexnode.flows.log import TOLD
from flexnode.generation.course import Ending
from flexnode.generation.directory import StateDirectory
from flexnode.generation.durable import translate_errors, write
from flexnode.generation.lock import hold
from flexnode.generation.outcome import Failure
from flexnode.generation.steps import Moment, Name, Timing

BOOTSTRAP = "bootstrap"
PREPARE = "prepare"
"""What of a bootstrap goes ahead of the join, and is recorded as one."""

EVENTS_LIMIT = 4 << 20
"""A log that has grown so large is put aside, in place of the one that was put aside before."""

BUSY = "state/busy"

_OK = "ok"

_told = logging.getLogger(TOLD)

_QUIET = frozenset({Name.JOURNAL, Name.LEDGER, Name.STATE})


class Provision(msgspec.Struct, frozen=True, kw_only=True):
    """`provision.json`: the result of the last bootstrap, or of what went ahead of one.

    Scripts read it: no field is ever left out.
    """

    operation: str = BOOTSTRAP
    result: str
    started: datetime
    ended: datetime
    code: str = _OK
    kind: str = ""
    message: str = ""
    hint: str = ""
    config: str = ""  # the digest of the effective configuration
    generation: str = ""
    timings: tuple[Timing, ...] = ()


@dataclass(kw_only=True, slots=True)
class Events:
    """`events.jsonl`, appended to. A lost event must not lose the operation: failures to write are let go."""

    path: Path
    clock: Clock
    operation: str
    _begun: dict[tuple[Name, str], datetime] = field(default_factory=dict)

    def __call__(self, moment: Moment, name: Name, key: str, /) -> None:
        """An `Observer`: one line for every step that ended."""
        if name in _QUIET:
            return
        now = self.clock.now()
        if moment is Moment.BEGIN:
            self._begun[name, key] = now
            return
        self._write({"step": name, "key": key, "start": self._begun.pop((name, key), now), "outcome": moment})

    def close(self, ending: Ending) -> None:
        """The line that an operation ends with. One that was cut off has none."""
        failure = ending.failure
        self._write(
            {
                "result": ending.result,
                "code": failure.code if failure else _OK,
                "kind": failure.kind if failure else "",
                "generation": ending.generation,
                "start": ending.started,
                "seconds": ending.seconds,
            }
        )

    def _write(self, fields: dict[str, Any]) -> None:
        record = {"at": self.clock.now(), "operation": self.operation, **fields}
        with suppress(OSError):
            self._append(msgspec.json.encode(record) + b"\n")

    def _append(self, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(self.path, flags, 0o600), "ab") as file:
            file.write(line)
            size = file.tell()
        if size > EVENTS_LIMIT:
            self.path.replace(self.path.with_suffix(".jsonl.1"))


def open_events(directory: StateDirectory, clock: Clock, operation: str) -> Events:
    """Nothing is written, and no directory made, before something happens."""
    return Events(path=directory.root / "events.jsonl", clock=clock, operation=operation)


def save_provision(directory: StateDirectory, provision: Provision) -> None:
    directory.prepare()
    write(
        directory.root / "provision.json",
        msgspec.json.format(msgspec.json.encode(provision), indent=2) + b"\n",
    )


def find_provision(directory: StateDirectory) -> Provision | None:
    """How the last bootstrap went; None if there was none, or it cannot be told any more."""
    path = directory.root / "provision.json"
    with translate_errors(path):
        try:
            return msgspec.json.decode(path.read_bytes(), type=Provision)
        except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
            return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Bootstrapping:
    """What the record of a bootstrap holds besides: it began before its operation did."""

    started: datetime
    config: str = ""  # the digest of the effective configuration


@dataclass(kw_only=True, slots=True)
class Recorder:
    """A `Closing`: the last line of the events and, of a bootstrap, how it went.

    A record that cannot be written takes nothing from what was done: it is one of the `warnings`.
    """

    directory: StateDirectory
    clock: Clock
    events: Events
    bootstrapping: Bootstrapping | None = None
    warnings: list[str] = field(default_factory=list)

    def __call__(self, ending: Ending, /) -> None:
        self.events.close(ending)
        _log_end(ending)
        if self.bootstrapping is None:
            return
        try:
            save_provision(self.directory, _describe(ending, self.bootstrapping, self.clock))
        except FlexError as error:
            self.warnings.append(f"how it went could not be written down: {error.message}")


def record_refusal(
    directory: StateDirectory,
    clock: Clock,
    started: datetime,
    failure: Failure,
    *,
    operation: str = BOOTSTRAP,
) -> None:
    """Write down that a bootstrap ended before it came to change anything.

    Nothing is written of one that met another operation, which has the last word: while that one runs, and
    if it was a bootstrap that ended since.
    """
    if failure.code == BUSY:
        return
    seconds = round((clock.now() - started).total_seconds(), 3)
    ending = Ending(operation=operation, started=started, seconds=seconds, failure=failure)
    recorder = Recorder(
        directory=directory,
        clock=clock,
        events=open_events(directory, clock, operation),
        bootstrapping=Bootstrapping(started=started),
    )
    with suppress(FlexError):  # what keeps it from being written is hardly the news
        directory.prepare()
        with hold(directory.lock, operation, clock=clock):
            last = find_provision(directory)
            if last is None or last.ended <= started:
                recorder(ending)


def _log_end(ending: Ending) -> None:
    about = f", generation {ending.generation}" if ending.generation else ""
    why = f": {ending.failure.message} ({ending.failure.code})" if ending.failure else ""
    _told.info("%s ended: %s%s, %.1f s%s", ending.operation, ending.result, about, ending.seconds, why)


def _describe(ending: Ending, bootstrapping: Bootstrapping, clock: Clock) -> Provision:
    provision = Provision(
        operation=ending.operation,
        result=ending.result,
        started=bootstrapping.started,
        ended=clock.now(),
        config=bootstrapping.config,
        generation=ending.generation,
        timings=ending.timings,
    )
    if ending.failure is None:
        return provision
    return msgspec.structs.replace(
        provision,
        code=ending.failure.code,
        kind=ending.failure.kind.value,
        message=ending.failure.message,
        hint=ending.failure.hint,
    )
