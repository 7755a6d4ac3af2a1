"""What an operation leaves to be read later: the event log, and how the last bootstrap went."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from flexnode.clock import Clock
from flexnode.errors import FlexError
from flexnode.generation.directory import StateDirectory
from flexnode.generation.durable import translate_errors, write
from flexnode.generation.outcome import Failure, Outcome
from flexnode.generation.steps import Moment, Name, Timing

EVENTS_LIMIT = 4 << 20
"""A log that has grown so large is put aside, in place of the one that was put aside before."""

BUSY = "state/busy"

_QUIET = frozenset({Name.JOURNAL, Name.LEDGER, Name.STATE})


class Provision(msgspec.Struct, frozen=True, kw_only=True):
    """`provision.json`: the result of the last bootstrap. Scripts read it: no field is ever left out."""

    result: str
    started: datetime
    ended: datetime
    code: str = "ok"
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
        self.write({"step": name, "key": key, "start": self._begun.pop((name, key), now), "outcome": moment})

    def write(self, fields: dict[str, Any]) -> None:
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


def record_bootstrap(
    directory: StateDirectory, clock: Clock, work: Callable[[], tuple[Outcome, str]]
) -> Outcome:
    """Do `work`, which answers an outcome and the configuration's digest, and write down how it went.

    A record that cannot be written takes nothing from what was done: it is a warning of the outcome.
    """
    started = clock.now()
    try:
        outcome, config = work()
    except FlexError as error:
        if error.code == BUSY:
            raise  # another operation runs, and writes down how that one went
        with suppress(FlexError):  # what keeps it from being written is hardly the news
            save_provision(directory, _describe("failed", started, clock, Failure.of(error)))
        raise
    described = _describe(outcome.result.value, started, clock, outcome.failure)
    record = msgspec.structs.replace(
        described, config=config, generation=outcome.generation, timings=outcome.timings
    )
    try:
        save_provision(directory, record)
    except FlexError as error:
        warning = f"how it went could not be written down: {error.message}"
        return msgspec.structs.replace(outcome, warnings=(*outcome.warnings, warning))
    return outcome


def _describe(result: str, started: datetime, clock: Clock, failure: Failure | None) -> Provision:
    provision = Provision(result=result, started=started, ended=clock.now())
    if failure is None:
        return provision
    return msgspec.structs.replace(
        provision,
        code=failure.code,
        kind=failure.kind.value,
        message=failure.message,
        hint=failure.hint,
    )
