"""Results keyed by everything that determines them: made once, whole or not at all, checked before use.

Layout under the root: `<name>-<key>/` holds a result and its record, `logs/<name>.log` what making it
printed, `locks/` one lock per result. A result is made beside its place and renamed into it, so a killed
maker leaves nothing that looks finished.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from flexnode.progress import Progress

RECORD = ".record.json"


class Job(Protocol):
    """Something that takes a while, and whose result is worth keeping."""

    @property
    def name(self) -> str:
        """A file name: what it is and of which version."""

    @property
    def title(self) -> str:
        """What a person reads while it runs."""

    def inputs(self) -> Mapping[str, object]:
        """All that the result depends on, as plain data; two jobs with equal inputs have equal results."""

    def make(self, folder: Path, log: Path) -> None:
        """Put the result into `folder`, which is empty, and what was printed on the way into `log`."""


class FileRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it was made. Size and time are compared at each use, the digest where the time differs."""

    sha256: str
    size: int
    mtime_ns: int


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to a result; `inputs` is there for people who wonder why something was made again."""

    inputs: dict[str, object]
    files: dict[str, FileRecord]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A finished result, checked."""

    folder: Path
    files: Mapping[str, FileRecord]

    def path(self, name: str) -> Path:
        return self.folder / name

    def sha256(self, name: str) -> str:
        return self.files[name].sha256


def ensure(job: Job, root: Path, progress: Progress) -> Entry:
    """The result of `job`: the kept one if it is whole, else made now. Of two makers one waits."""
    inputs = msgspec.to_builtins(job.inputs())
    place = root / f"{job.name}-{render_key(inputs)}"
    found = find_entry(place)
    if found is not None:
        return found
    with _locked(root / "locks" / f"{place.name}.lock", job.title, progress):
        found = find_entry(place)  # whoever held the lock may have made it
        if found is not None:
            return found
        with progress.step(job.title):
            return _make(job, inputs, root, place)


def find_entry(place: Path) -> Entry | None:
    """The result that lies in `place`, or None where there is none or it is not what was recorded."""
    try:
        record = msgspec.json.decode((place / RECORD).read_bytes(), type=Record)
    except (OSError, msgspec.MsgspecError):
        return None
    if not all(_is_whole(place / name, file) for name, file in record.files.items()):
        return None
    return Entry(folder=place, files=record.files)


def render_key(inputs: object) -> str:
    """A short digest of `inputs`; the order of mappings does not count."""
    return hashlib.sha256(msgspec.json.encode(inputs, order="deterministic")).hexdigest()[:16]


def file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _make(job: Job, inputs: dict[str, object], root: Path, place: Path) -> Entry:
    draft = root / f".making-{place.name}"
    shutil.rmtree(draft, ignore_errors=True)  # what a killed maker left
    draft.mkdir(parents=True)
    log = root / "logs" / f"{job.name}.log"
    log.parent.mkdir(exist_ok=True)
    try:
        job.make(draft, log)
        files = {str(path.relative_to(draft)): _record(path) for path in sorted(_walk(draft))}
        record = Record(inputs=inputs, files=files)
        (draft / RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(record)))
        shutil.rmtree(place, ignore_errors=True)  # one that was found broken
        draft.rename(place)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return Entry(folder=place, files=files)


def _walk(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def _record(path: Path) -> FileRecord:
    stat = path.stat()
    return FileRecord(sha256=file_sha256(path), size=stat.st_size, mtime_ns=stat.st_mtime_ns)


def _is_whole(path: Path, record: FileRecord) -> bool:
    try:
        stat = path.stat()
    except OSError:
        return False
    if stat.st_size != record.size:
        return False
    # A copied cache has new times and the same content: slower to check, still right.
    return stat.st_mtime_ns == record.mtime_ns or file_sha256(path) == record.sha256


@contextmanager
def _locked(path: Path, title: str, progress: Progress) -> Iterator[None]:
    """Hold the lock at `path`; the kernel gives it back when its holder ends, however that ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with progress.step(f"wait for another process: {title}"):
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
