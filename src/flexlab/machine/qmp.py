"""QEMU's control socket: one command, one answer."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flexlab.errors import LabError


def execute(path: Path, command: str, arguments: dict[str, object] | None = None, timeout: float = 30) -> Any:
    """Run a QMP command and return what it returns; a machine that does not listen is a transient error."""
    try:
        with _connected(path, timeout) as connection, connection.makefile("rwb") as stream:
            json.loads(stream.readline())  # the greeting
            _ask(stream, "qmp_capabilities", {})
            return _ask(stream, command, arguments or {})
    except (OSError, ValueError) as error:
        raise LabError(
            f"the machine behind {path} does not answer to {command}: {error}",
            code="machine/no-answer",
            transient=True,
            hint=f"see {path.parent / 'serial.log'}",
        ) from error


def execute_monitor(path: Path, line: str, timeout: float = 300) -> None:
    """Run a command of the human monitor, which says nothing when all is well."""
    said = execute(path, "human-monitor-command", {"command-line": line}, timeout)
    if said:
        raise LabError(
            f"the machine refused `{line}`: {str(said).strip()}",
            code="machine/refused",
            hint="see that the machine runs and its disk has room: `flexlab status`, df",
        )


def _ask(stream: Any, command: str, arguments: dict[str, object]) -> Any:
    stream.write(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
    stream.flush()
    while True:
        answer = json.loads(stream.readline())
        if "return" in answer:
            return answer["return"]
        if "error" in answer:
            raise LabError(
                f"the machine refused {command}: {answer['error'].get('desc')}",
                code="machine/refused",
                hint="see `flexlab status`: whether the machine runs, and what is broken on purpose",
            )
        # anything else is an event


@contextmanager
def _connected(path: Path, timeout: float) -> Iterator[socket.socket]:
    with connected(path) as connection:
        connection.settimeout(timeout)
        yield connection


@contextmanager
def connected(path: Path) -> Iterator[socket.socket]:
    """A connection to a socket whose path may be longer than the 107 characters that the kernel takes."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(f"/proc/self/fd/{folder}/{path.name}")
            yield connection
    finally:
        os.close(folder)
