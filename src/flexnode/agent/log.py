"""Where the agent writes what it does: to stderr, which is the journal's, and to a file of bounded size."""

from __future__ import annotations

import logging
import logging.handlers
import os
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from flexnode.flows.redact import clean_living

FILE = "aks-flex-node.log"
SIZE = 5 << 20
KEPT = 3

_FORM = "%(asctime)s %(levelname)s %(message)s"
_JOURNAL_FORM = "%(levelname)s %(message)s"  # the journal knows the time

_log = logging.getLogger(__name__)


class PrivateFile(logging.handlers.RotatingFileHandler):
    """Root's alone: what programs say may hold names that are nobody else's business."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, maxBytes=SIZE, backupCount=KEPT, encoding="utf-8", delay=True)

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
        # What the HTTP client says of each request is of no use to anybody but its authors.
        for chatty in ("httpx", "httpcore", "hpack", "h2"):
            logging.getLogger(chatty).setLevel(logging.WARNING)
        if (directory, level) == self._place:
            return
        self._place = (directory, level)
        handlers: list[logging.Handler] = [logging.StreamHandler(self._stream)]
        handlers[0].setFormatter(Clean(_JOURNAL_FORM))
        problem = None
        try:
            Path(directory).mkdir(mode=0o750, parents=True, exist_ok=True)
            file = PrivateFile(Path(directory) / FILE)
            file.setFormatter(Clean(_FORM))
            file.acquire()
            file.release()
            handlers.append(file)
        except OSError as error:
            problem = error
        for old in root.handlers[:]:
            root.removeHandler(old)
            old.close()
        for handler in handlers:
            root.addHandler(handler)
        if problem is not None:
            _log.warning("%s cannot be written to: %s", directory, problem.strerror or problem)
