"""The status file: how the node is, for everybody on the machine, replaced whole."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from threading import Lock

import msgspec

from flexnode.flows.status import RUN_ROOT, STATUS_FILE, AgentStatus

_log = logging.getLogger(__name__)


class Board:
    """Below /run, which is memory: nothing is synced, and the last boot's status does not outlive it.

    Downloads run beside each other, and each tells how far it is: one at a time writes the file.
    """

    def __init__(self, root: Path = RUN_ROOT) -> None:
        self._root = root
        self._silenced = False
        self._writing = Lock()

    def prepare(self) -> None:
        self._root.mkdir(mode=0o755, parents=True, exist_ok=True)

    def show(self, status: AgentStatus) -> None:
        """A status that cannot be shown is no reason to stop looking after the node."""
        data = msgspec.json.format(msgspec.json.encode(status), indent=2) + b"\n"
        with self._writing:
            try:
                self._write(data)
                self._silenced = False
            except OSError as error:
                if not self._silenced:
                    _log.warning("the status cannot be written: %s", error)
                self._silenced = True

    def _write(self, data: bytes) -> None:
        target = self._root / STATUS_FILE
        temporary = target.with_name(f".{STATUS_FILE}.new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(temporary, flags, 0o644), "wb") as file:
            os.fchmod(file.fileno(), 0o644)  # whatever the umask says
            file.write(data)
        temporary.rename(target)
