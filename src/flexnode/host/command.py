"""The one place in the product that starts programs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from flexnode.errors import CommandError

TAIL = 2000
"""How much of a failed program's last words an error quotes, in characters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A program to run, as a value: no shell, closed stdin unless given, C locale, bounded in time."""

    argv: tuple[str, ...]
    timeout: float = 60.0
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    expect: tuple[int, ...] = (0,)

    def __str__(self) -> str:
        return " ".join(self.argv)


@dataclass(frozen=True, kw_only=True, slots=True)
class Completed:
    """What a program answered."""

    returncode: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        return self.stdout.decode(errors="replace")


def run(command: Command) -> Completed:
    """Run `command` to its end; anything but a clean end is a CommandError."""
    program = command.argv[0]
    env = {**os.environ, "LC_ALL": "C.UTF-8", "LANGUAGE": "", **command.env}
    try:
        done = subprocess.run(
            command.argv,
            input=command.stdin,
            capture_output=True,
            timeout=command.timeout,
            env=env,
            cwd=command.cwd,
        )
    except FileNotFoundError as error:
        raise CommandError(
            f"{program} was not found",
            code="host/command-missing",
            hint=f"install the package that provides {program}",
        ) from error
    except subprocess.TimeoutExpired as error:
        raise CommandError(
            f"{program} did not finish within {command.timeout:g} s: {command}",
            code="host/command-timeout",
            transient=True,
            hint="the machine is under heavy load, or what it waits for does not come: try again",
        ) from error
    except OSError as error:
        raise CommandError(
            f"{program} cannot be started: {(error.strerror or str(error)).lower()}",
            code="host/command-refused",
            hint=f"see whether {program} is a program for this machine, and may be executed",
        ) from error
    completed = Completed(returncode=done.returncode, stdout=done.stdout, stderr=done.stderr)
    if completed.returncode not in command.expect:
        words = (completed.stderr or completed.stdout).decode(errors="replace").strip()[-TAIL:]
        raise CommandError(
            f"{command} exited with {completed.returncode}: {words}",
            code="host/command-failed",
            hint="its own words say why; mend that, and try again",
        )
    return completed


def begin_anew() -> NoReturn:
    """Put this program in its own place: the same process, by the words that it was started with."""
    os.execv(sys.executable, sys.orig_argv)  # noqa: S606 (there is no shell, nor wanted)
