"""The compilers on this machine: which Go is new enough, and what identifies the C compiler."""

from __future__ import annotations

import platform
import re
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from flexlab.errors import LabError
from flexnode.errors import CommandError
from flexnode.host import Command, Completed, run
from flexnode.model import Arch
from flexnode.model.artifact import MACHINES

BUILD_TIMEOUT = 3600.0
_ANY_EXIT = tuple(range(-64, 256))
_TAIL = 25


@dataclass(frozen=True, kw_only=True, slots=True)
class Go:
    """A Go command and its version, such as (1, 26, 3)."""

    path: str
    version: tuple[int, ...]

    @property
    def text(self) -> str:
        return ".".join(map(str, self.version))


def require_go(needed: tuple[int, ...]) -> Go:
    """The first Go that is at least `needed`: on PATH, beside this Python, or where its installer puts it."""
    seen: list[Go] = []
    for path in _candidates():
        try:
            answer = run(
                Command(argv=(path, "env", "GOVERSION"), env={"GOTOOLCHAIN": "local"}, cwd=Path("/"))
            )
        except CommandError:
            continue
        go = Go(path=path, version=parse_go_version(answer.text))
        if go.version >= needed:
            return go
        seen.append(go)
    found = ", ".join(f"{go.path} is {go.text}" for go in seen) or "none was found"
    raise LabError(
        f"building from source needs Go {'.'.join(map(str, needed))} or newer; {found}",
        code="parts/no-go",
        hint="install requirements/go.txt into the virtual environment, or a newer Go on PATH",
    )


def parse_go_version(text: str) -> tuple[int, ...]:
    """The numbers in `go1.26.3` or `1.24.0`; a vendor's suffix does not count."""
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part or 0) for part in match.groups()) if match else ()


def identify_c_compiler(libraries: Iterable[str] = ()) -> str:
    """The C compiler's version, and those of `libraries` (pkg-config names) that get linked in."""
    try:
        words = [run(Command(argv=("gcc", "-dumpfullversion"))).text.strip()]
        for library in libraries:
            version = run(Command(argv=("pkg-config", "--modversion", library))).text.strip()
            words.append(f"{library} {version}")
    except CommandError as error:
        raise LabError(
            f"building from source needs a C compiler: {error.message}",
            code="parts/no-compiler",
            hint="apt-get install gcc libc6-dev pkg-config libseccomp-dev",
        ) from error
    return ", ".join(words)


def machine_arch() -> Arch:
    """What this machine is, by the name that release files use."""
    try:
        return MACHINES[platform.machine()]
    except KeyError:
        raise LabError(
            f"nothing is built for {platform.machine()} machines",
            code="parts/unknown-machine",
            hint=f"use one of: {', '.join(MACHINES)}",
        ) from None


def run_logged(command: Command, log: Path) -> Completed:
    """Run a compiler; what it prints goes to `log`, and its last lines into the error."""
    done = run(
        Command(
            argv=command.argv, timeout=command.timeout, env=command.env, cwd=command.cwd, expect=_ANY_EXIT
        )
    )
    with log.open("ab") as stream:
        stream.write(f"$ {command}\n".encode() + done.stdout + done.stderr)
    if done.returncode:
        lines = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()[-_TAIL:]
        raise LabError(
            f"{command.argv[0]} exited with {done.returncode}:\n" + "\n".join(lines),
            code="parts/build-failed",
            hint=f"the whole output is in {log}",
        )
    return done


def _candidates() -> list[str]:
    found = (shutil.which("go"), f"{sys.prefix}/bin/go", "/usr/local/go/bin/go")
    return list(dict.fromkeys(path for path in found if path and Path(path).exists()))
