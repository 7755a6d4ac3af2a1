"""What operations and the agent do, written to a file of bounded size, and to stderr beside it.

Several processes may write to the file: a person's command while the agent runs.
"""

from __future__ import annotations

import logging
import logging.handlers
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from flexnode.clock import Clock
from flexnode.flows.redact import clean_living
from flexnode.progress import Progress

FILE = "aks-flex-node.log"
SIZE = 5 << 20
KEPT = 3

TOLD = "flexnode.told"
"""The logger of what a terminal shows in a form of its own."""

_FORM = "%(asctime)s %(levelname)s %(message)s"
_JOURNAL_FORM = "%(levelname)s %(message)s"  # the journal knows the time

_log = logging.getLogger(__name__)
_told = logging.getLogger(TOLD)


class PrivateFile(logging.handlers.RotatingFileHandler):
    """Root's alone: what programs say may hold names that are nobody else's business."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=SIZE, backupCount=KEPT, encoding="utf-8")

    def emit(self, record: logging.LogRecord) -> None:
        if not self._is_current():
            # Another process has put it aside: whoever writes next opens the new one.
            super().close()
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """A full disk costs the line, and nothing else."""

    def _is_current(self) -> bool:
        stream: TextIOWrapper | None = self.stream
        if stream is None:
            return True
        with suppress(OSError):
            return os.path.samestat(os.stat(self.baseFilename), os.fstat(stream.fileno()))
        return False

    def _open(self) -> TextIOWrapper:
        def private(name: str, flags: int) -> int:
            return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

        return TextIOWrapper(open(self.baseFilename, "ab", opener=private), encoding="utf-8")


class Clean(logging.Formatter):
    """No failure has a secret in it; should one have slipped in all the same, it ends here."""

    def format(self, record: logging.LogRecord) -> str:
        return clean_living(super().format(record))


class Log:
    """The root logger's handlers. A directory that cannot be written to leaves stderr."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._place: tuple[str, str] = ("", "")

    def open(self, directory: str, level: str) -> None:
        """Write there from now on; what is open already stays so."""
        root = logging.getLogger()
        root.setLevel(level.upper())
        _quieten()
        if (directory, level) == self._place:
            return
        self._place = (directory, level)
        stream = logging.StreamHandler(self._stream)
        stream.setFormatter(Clean(_JOURNAL_FORM))
        file, problem = _open_file(directory)
        for old in root.handlers[:]:
            root.removeHandler(old)
            old.close()
        for handler in (stream, file):
            if handler is not None:
                root.addHandler(handler)
        if problem is not None:
            _log.warning("%s cannot be written to: %s", directory, problem.strerror or problem)


@contextmanager
def written_down(directory: str, level: str, stream: TextIO) -> Iterator[None]:
    """A person's command: its log goes to the file as well as to `stream`, which hears what it would hear
    without, and nothing of what the command tells there in its own form.
    """
    root = logging.getLogger()
    before, heard = root.handlers[:], root.level
    shown = before or [logging.StreamHandler(stream)]
    levels = [handler.level for handler in shown]
    file, problem = _open_file(directory)
    for handler in shown:
        handler.setLevel(max(handler.level, heard))
        handler.addFilter(_is_untold)
        root.addHandler(handler)  # once: those that are there already stay as they are
    if file is not None:
        file.setLevel(level.upper())
        root.addHandler(file)
        root.setLevel(min(heard, file.level))
        _quieten()
    if problem is not None:
        _log.warning("%s cannot be written to: %s", directory, problem.strerror or problem)
    try:
        yield
    finally:
        root.setLevel(heard)
        for handler, level_before in zip(shown, levels, strict=True):
            handler.setLevel(level_before)
            handler.removeFilter(_is_untold)
        for handler in [each for each in root.handlers if each not in before]:
            root.removeHandler(handler)
            handler.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class Logged:
    """A `Progress` that writes down how each step ended, and passes everything on."""

    progress: Progress
    clock: Clock

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        started = self.clock.monotonic()
        try:
            with self.progress.step(title):
                yield
        except BaseException:
            _told.info("failed: %s (%.1f s)", title, self.clock.monotonic() - started)
            raise
        _told.info("done: %s (%.1f s)", title, self.clock.monotonic() - started)

    def note(self, text: str) -> None:
        self.progress.note(text)


def _open_file(directory: str) -> tuple[PrivateFile | None, OSError | None]:
    try:
        Path(directory).mkdir(mode=0o750, parents=True, exist_ok=True)
        file = PrivateFile(Path(directory) / FILE)
        file.setFormatter(Clean(_FORM))
    except OSError as error:
        return None, error
    return file, None


def _is_untold(record: logging.LogRecord) -> bool:
    return record.name != TOLD


def _quieten() -> None:
    """What the HTTP client says of each request is of no use to anybody but its authors."""
    for chatty in ("httpx", "httpcore", "hpack", "h2"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
