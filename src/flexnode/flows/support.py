"""A support bundle: what it takes to understand a node from afar, in one archive, without its secrets.

Everything in it is text, and every text passes through one redactor. What cannot be had is said in its place:
a bundle is asked for when something is broken.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from flexnode.clock import Clock
from flexnode.components.layout import CONTAINERD, KUBELET
from flexnode.config import DIRECTORY, Resolved
from flexnode.config.render import make_document, make_origins, render_json
from flexnode.errors import FlexError, StateError
from flexnode.flows.redact import Redactor, find_named, find_secrets
from flexnode.flows.status import RUN_ROOT, STATUS_FILE
from flexnode.generation.directory import StateDirectory
from flexnode.host.command import Command
from flexnode.host.door import Host
from flexnode.host.facts import read_facts
from flexnode.progress import Progress, Silent

AGENT = "aks-flex-node-agent.service"
UNITS = (AGENT, "aks-flex-node-recover.service", CONTAINERD, KUBELET)

_LINES = "3000"
_LARGEST = 8 << 20
"""Bytes of one file, of which the end counts."""

COMMANDS: dict[str, tuple[str, ...]] = {
    "uname": ("uname", "-a"),
    "uptime": ("uptime",),
    "df": ("df", "-h", "-T"),
    "df-inodes": ("df", "-i"),
    "mounts": ("findmnt", "--real"),
    "memory": ("free", "-m"),
    "addresses": ("ip", "address"),
    "routes": ("ip", "route", "show", "table", "all"),
    "sockets": ("ss", "-lntup"),
    "packet-filter": ("nft", "list", "ruleset"),
    "time": ("timedatectl",),
    "modules": ("lsmod",),
    "failed-units": ("systemctl", "--no-pager", "--failed"),
    "units": ("systemctl", "--no-pager", "--full", "status", *UNITS),
    "unit-files": ("systemctl", "--no-pager", "cat", *UNITS),
    "containers": ("crictl", "ps", "--all"),
    "pods": ("crictl", "pods"),
    "kernel-log": ("journalctl", "--no-pager", "--dmesg", "--lines", _LINES),
    **{
        f"journal-{unit.removesuffix('.service')}": (
            "journalctl", "--no-pager", "--unit", unit, "--lines", _LINES, "--output", "short-iso",
        )
        for unit in UNITS
    },
}  # fmt: skip
"""Programs that only read, by the name of the file that gets what they answer."""


@dataclass(kw_only=True, slots=True)
class Collector:
    """`load` gives the configuration, or raises a ConfigError, which then stands in its place."""

    host: Host
    clock: Clock
    load: Callable[[], Resolved]
    config: Path = DIRECTORY  # the directory of the configuration, to know its secrets even if it is broken
    directory: StateDirectory = field(default_factory=StateDirectory)
    run: Path = RUN_ROOT
    logs: Path = Path("/var/log/aks-flex-node")
    progress: Progress = field(default_factory=Silent)

    def write(self, target: Path) -> tuple[str, ...]:
        """Make the archive at `target`, root's alone from its first byte; answers the names in it."""
        resolved, problem = self._load()
        redactor = Redactor(find_secrets(resolved.data) if resolved else self._guess_secrets())
        folder = target.name.partition(".")[0]
        names = []
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with (
                open(os.open(target, flags, 0o600), "wb") as file,
                tarfile.open(fileobj=file, mode="w:gz") as archive,
            ):
                for name, text in self._collect(resolved, problem):
                    data = redactor.clean(text).encode(errors="replace")
                    entry = tarfile.TarInfo(f"{folder}/{name}")
                    entry.size, entry.mode, entry.mtime = len(data), 0o600, int(self.clock.now().timestamp())
                    archive.addfile(entry, io.BytesIO(data))
                    names.append(name)
        except OSError as error:
            if not isinstance(error, FileExistsError):
                with suppress(OSError):
                    target.unlink(missing_ok=True)
            raise StateError(
                f"{target} cannot be written: {error.strerror or error}",
                code="bundle/not-written",
                hint="name a file that does not exist yet, where there is space, with --file",
            ) from error
        return tuple(names)

    def _collect(self, resolved: Resolved | None, problem: str) -> Iterator[tuple[str, str]]:
        if resolved is not None:
            yield "config.json", render_json(make_document(resolved.data)) + "\n"
            yield "config-origins.json", render_json(make_origins(resolved)) + "\n"
        else:
            yield "config.txt", problem + "\n"
        yield "facts.json", self._facts()
        yield from self._read_files()
        for name, argv in COMMANDS.items():
            with self.progress.step(f"ask {name}"):
                yield f"commands/{name}.txt", self._ask(argv)

    def _load(self) -> tuple[Resolved | None, str]:
        try:
            return self.load(), ""
        except FlexError as error:
            return None, f"{error.message}\n{error.hint}"

    def _guess_secrets(self) -> Iterator[str]:
        for path in (*_list(self.config), *_list(self.config / "config.d")):
            if path.is_file():
                yield from find_named(_read(path))

    def _facts(self) -> str:
        try:
            return msgspec.json.format(msgspec.json.encode(read_facts(self.host)), indent=2).decode() + "\n"
        except FlexError as error:
            return f"{error.message}\n"

    def _read_files(self) -> Iterator[tuple[str, str]]:
        root = self.directory.root
        single = [
            self.run / STATUS_FILE,
            root / "provision.json",
            root / "state.json",
            root / "cluster.json",
            root / "packages.json",
            root / "agent.json",
            root / "journal",
            root / "events.jsonl.1",
            root / "events.jsonl",
        ]
        generations = [*_list(self.directory.generations)]
        for path in [*single, *generations, *_list(self.logs)]:
            if not path.is_symlink() and (path.is_file() or path in single):
                folder = path.parent.name if path in generations or path.parent == self.logs else ""
                yield "/".join(filter(None, ("files", folder, path.name))), _read(path)

    def _ask(self, argv: tuple[str, ...]) -> str:
        said = f"$ {' '.join(argv)}\n"
        try:
            # A program that fails may have said the more interesting things.
            done = self.host.run(Command(argv=argv, timeout=30.0, expect=tuple(range(256))))
        except FlexError as error:
            return f"{said}{error.message}\n"
        words = _cut(done.stdout) + _cut(done.stderr)
        ending = f"exit {done.returncode}\n" if done.returncode else ""
        return said + words.decode(errors="replace") + ending


def _cut(data: bytes) -> bytes:
    """The end of it, in whole lines."""
    return data if len(data) <= _LARGEST else data[-_LARGEST:].partition(b"\n")[2]


def _list(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _read(path: Path) -> str:
    """The end of a file; why it cannot be read, in its place."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > _LARGEST:
                file.seek(size - _LARGEST)
                file.readline()  # not a part of a line: a secret is known by what stands before it
            return file.read().decode(errors="replace")
    except OSError as error:
        return f"{path}: {error.strerror or error}\n"
