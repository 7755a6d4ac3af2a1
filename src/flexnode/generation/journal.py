"""The journal of one operation: what it is about to do, on disk before it is done.

One JSON object per line, each with a checksum of its own. A line that a power cut tore is no record: what it
announced had not begun. A journal that exists is an operation that has not ended.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec

from flexnode.artifacts.store import fsync_directory
from flexnode.generation.durable import (
    SCHEMA,
    checksum,
    read,
    remove,
    require_known_schema,
    translate_errors,
)
from flexnode.resources.resource import Change, Disruption
from flexnode.resources.state import State

T = TypeVar("T")
NO_LIMIT = -1.0
"""In the place of remaining seconds: as long as it takes."""


class _Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="is", omit_defaults=True):
    """`at`: seconds since the attempt was opened, by the clock that does not jump."""

    at: float = 0.0


class Opened(_Record, frozen=True, kw_only=True, tag="opened"):
    """An attempt to bring the machine to `target` begins; `remaining` are the seconds that it has."""

    target: str
    previous: str | None = None
    operation: str = ""
    attempt: int = 1
    remaining: float = 0.0
    inputs: str = ""
    reason: str = ""  # why it goes back, on the way back; `inputs` are then those of what is left behind
    returns: bool = False  # this is the way back
    rejects: bool = False  # a person left `previous` behind: it shall not come again by itself
    boot: str = ""  # in which its changes are made


class Changing(_Record, frozen=True, kw_only=True, tag="change"):
    """This change comes next: it has been made, has been made in part, or has not been made."""

    change: Change


class Done(_Record, frozen=True, kw_only=True, tag="done"):
    """What cannot be seen by looking at the machine has been done: owned state has left, in this boot."""

    key: str
    boot: str = ""


class Restarted(_Record, frozen=True, kw_only=True, tag="restarted"):
    """The unit runs with all changes so far: started, restarted or reloaded."""

    unit: str


class Verified(_Record, frozen=True, kw_only=True, tag="verified"):
    """The target works."""


class Confirmed(_Record, frozen=True, kw_only=True, tag="confirmed"):
    """The target is current; what follows is tidying up."""


class RolledBack(_Record, frozen=True, kw_only=True, tag="rolled-back"):
    """The machine is as the previous generation wants it."""


class Stopped(_Record, frozen=True, kw_only=True, tag="stopped"):
    """The attempt was interrupted in good order, so it does not count against its target."""


Record: TypeAlias = Opened | Changing | Done | Restarted | Verified | Confirmed | RolledBack | Stopped


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    schema: int
    sha256: str
    record: msgspec.Raw


@dataclass(kw_only=True, slots=True)
class Journal:
    """Records in the order of writing. `warning` tells what could not be read among them."""

    path: Path
    records: list[Record] = field(default_factory=list)
    warning: str = ""
    _whole: int = 0  # the length of the file without a torn end

    @classmethod
    def load(cls, path: Path) -> Journal:
        """What is on disk; no file is a journal without records."""
        data = read(path) or b""
        records, damaged = _parse(data)
        warning = f"{path}: {damaged} records are damaged and were left out" if damaged else ""
        return cls(path=path, records=records, warning=warning, _whole=data.rfind(b"\n") + 1)

    @property
    def open(self) -> bool:
        """Whether there is a journal at all, readable or not."""
        return bool(self.records) or self.path.exists()

    def append(self, record: Record) -> None:
        """Add a record; it is durable when the call returns, or an error says that it is not there."""
        line = render_record(record)
        with translate_errors(self.path):
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(self.path, flags, 0o600), "wb", buffering=0) as file:
                # Over the torn end of an earlier writer, or of ours when the disk was full.
                file.truncate(self._whole)
                file.seek(self._whole)
                _write_all(file.fileno(), line)
                os.fsync(file.fileno())
            if not self._whole:
                fsync_directory(self.path.parent)
        self._whole += len(line)
        self.records.append(record)

    def close(self) -> None:
        """The operation has ended: no record of it stays."""
        remove(self.path)
        self.records.clear()
        self._whole = 0

    def attempt(self) -> Opened | None:
        """The attempt that runs, or ran last."""
        return next((each for each in reversed(self.records) if isinstance(each, Opened)), None)

    def targets(self) -> tuple[str, ...]:
        """The ids of all generations that this operation was about, in order."""
        opened = (each for each in self.records if isinstance(each, Opened))
        return tuple(dict.fromkeys(each.target for each in opened))

    def has(self, kind: type[T]) -> bool:
        """Whether the last attempt left a record of this kind with no change after it."""
        for record in reversed(self.records):
            if isinstance(record, kind):
                return True
            if isinstance(record, Opened | Changing):
                break
        return False

    def spent(self) -> float:
        """The seconds that the last attempt is known to have used."""
        return max((each.at for each in self._last_attempt()), default=0.0)

    def before(self, key: str) -> State | None:
        """What was there when this operation first changed `key`; None if it never did."""
        return next((change.before for change in self.changes() if change.key == key), None)

    def begun(self) -> dict[str, State]:
        """What this operation was last about to bring each key to. An attempt may have died in the middle."""
        return {change.key: change.after for change in self.changes()}

    def done(self) -> dict[str, str]:
        """What has been done for the present target, however many attempts ago, and in which boot."""
        done: dict[str, str] = {}
        target = ""
        for record in self.records:
            if isinstance(record, Opened):
                done = done if record.target == target else {}
                target = record.target
            elif isinstance(record, Done):
                done[record.key] = record.boot
        return done

    def owed(self) -> tuple[Change, ...]:
        """The changes of this operation, each with only those units that have not seen it yet, in order."""
        owed: list[Change] = []
        for record in self.records:
            if isinstance(record, Changing):
                owed.append(record.change)
            elif isinstance(record, Restarted):
                owed = [_without(change, record.unit) for change in owed]
        return tuple(owed)

    def owes_boot(self, boot: str) -> bool:
        """Whether a change was made in the boot of that name and takes effect only with the next one.

        On the way back that is so only if what it takes back had taken effect by an earlier boot.
        """
        boots: set[str] = set()
        attempt: Opened | None = None
        for record in self.records:
            if isinstance(record, Opened):
                attempt = record
            elif isinstance(record, Changing) and record.change.disruption is Disruption.REBOOT:
                boots.add(attempt.boot if attempt else "")
        returns = attempt is not None and attempt.returns
        return boot in boots and (not returns or len(boots) > 1)

    def changes(self) -> tuple[Change, ...]:
        """All that this operation has begun to change, in order."""
        return tuple(each.change for each in self.records if isinstance(each, Changing))

    def _last_attempt(self) -> Iterator[Record]:
        for record in reversed(self.records):
            if isinstance(record, Opened):
                return
            yield record


def render_record(record: Record) -> bytes:
    """The line that stands for a record."""
    raw = msgspec.json.encode(record)
    line = _Line(schema=SCHEMA, sha256=checksum(SCHEMA, raw), record=msgspec.Raw(raw))
    return msgspec.json.encode(line) + b"\n"


def parse_record(line: bytes) -> Record | None:
    """The record; None if a byte is missing or wrong; state/newer-version if a later product wrote it."""
    try:
        frame = msgspec.json.decode(line, type=_Line)
        raw = bytes(frame.record)
        if frame.sha256 != checksum(frame.schema, raw):
            return None
        require_known_schema(frame.schema, "the journal")
        return msgspec.json.decode(raw, type=Record)  # type: ignore[no-any-return, arg-type, unused-ignore]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _parse(data: bytes) -> tuple[list[Record], int]:
    """The records, and how many lines were none; the end without a line feed is neither."""
    lines = data.split(b"\n")[:-1]
    parsed = [parse_record(line) for line in lines]
    records = [each for each in parsed if each is not None]
    return records, len(lines) - len(records)


def _without(change: Change, unit: str) -> Change:
    return msgspec.structs.replace(
        change,
        restarts=tuple(each for each in change.restarts if each != unit),
        reloads=tuple(each for each in change.reloads if each != unit),
    )


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
