#!/usr/bin/env python3
"""Run named stages one after another, each bounded in time, and end with a table of how each went.

    stages.py --stage NAME SECONDS COMMAND [--stage ...]

A later stage runs although an earlier one failed: one red stage must not hide what the others would say. The
exit code is 1 if any failed. Output is passed on as it comes; a silent stage shows that it runs.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import selectors
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

SILENCE = 30.0
"""After how many silent seconds a stage is said to be still running."""

GRACE = 20.0
"""How long a stage that is out of time may take to clean up after itself."""

ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, kw_only=True)
class Stage:
    """What runs, and for how many seconds at most."""

    name: str
    seconds: float
    command: str
    argv: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a stage ended. `last` is its last line: a test runner's figures, mostly."""

    name: str
    verdict: str
    seconds: float
    last: str

    @property
    def ok(self) -> bool:
        return self.verdict == "ok"


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def pass_on(name: str, child: subprocess.Popen[bytes], deadline: float) -> tuple[str, bool]:
    """Copy a stage's output to ours until it ends; answer its last line, and whether it ended in time."""
    started = spoke = time.monotonic()
    tail = b""
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while (now := time.monotonic()) < deadline:
            if selector.select(1):
                chunk = os.read(child.stdout.fileno(), 65536)
                if not chunk:
                    return last_line(tail), True
                sys.stdout.buffer.write(chunk)
                sys.stdout.flush()
                tail = (tail + chunk)[-4096:]
                spoke = now
            elif child.poll() is not None:
                return last_line(tail), True  # something that it left behind still holds the pipe
            elif now - spoke >= SILENCE:
                say(f"… {name} is still running ({now - started:.0f} s)")
                spoke = now
    return last_line(tail), False


def last_line(tail: bytes) -> str:
    lines = [line for line in ESCAPES.sub("", tail.decode(errors="replace")).splitlines() if line.strip()]
    return lines[-1].strip(" =") if lines else ""


def await_end(child: subprocess.Popen[bytes], deadline: float) -> int | None:
    """The exit code, or None if there is none in time: a program may close its output long before it ends."""
    try:
        return child.wait(max(1.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None


def end(child: subprocess.Popen[bytes]) -> None:
    """End a stage with everything it started in its own session: politely, then not."""
    for number, patience in ((signal.SIGINT, GRACE), (signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
        try:
            os.killpg(child.pid, number)
            child.wait(patience)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
        return


def run(stage: Stage) -> Result:
    name, seconds = stage.name, stage.seconds
    say(f"\n── {name}: {stage.command}")
    started = time.monotonic()
    try:
        child = subprocess.Popen(
            stage.argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    except OSError as error:
        return Result(name=name, verdict="cannot start", seconds=0, last=str(error))
    try:
        deadline = started + seconds
        last, in_time = pass_on(name, child, deadline)
        code = await_end(child, deadline) if in_time else None
        if code is not None:
            verdict = "ok" if code == 0 else f"failed ({code})"
        else:
            say(f"{name} did not end within {seconds:.0f} s")
            end(child)
            verdict = "out of time"
    except BaseException:
        end(child)
        raise
    finally:
        child.stdout.close()
    return Result(name=name, verdict=verdict, seconds=time.monotonic() - started, last=last)


def render(results: list[Result]) -> str:
    names = max(len(result.name) for result in results)
    verdicts = max(len(result.verdict) for result in results)
    rows = [
        f"{r.name:<{names}}  {r.verdict:<{verdicts}}  {r.seconds:>8.1f} s  {r.last[:100]}" for r in results
    ]
    total = sum(result.seconds for result in results)
    rows.append(f"{'total':<{names}}  {'':<{verdicts}}  {total:>8.1f} s")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--stage", nargs=3, action="append", required=True, metavar=("NAME", "SECONDS", "COMMAND")
    )
    try:
        stages = [parse_stage(*words) for words in parser.parse_args().stage]
    except ValueError as error:
        parser.error(str(error))
    try:
        return run_all(stages)
    except OSError as error:
        return tell_unwritable(error)


def parse_stage(name: str, seconds: str, command: str) -> Stage:
    """Before the first one runs: a stage that cannot be one must not be found out an hour later."""
    try:
        limit = float(seconds)
    except ValueError:
        limit = math.nan
    if not 0 < limit < math.inf:
        raise ValueError(f"{name}: {seconds!r} is no number of seconds")
    try:
        argv = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"{name}: {command!r} is no command: {error}") from None
    if not argv:
        raise ValueError(f"{name}: an empty text is no command")
    return Stage(name=name, seconds=limit, command=command, argv=tuple(argv))


def run_all(stages: list[Stage]) -> int:
    results: list[Result] = []
    try:
        for stage in stages:
            result = run(stage)
            results.append(result)
    except KeyboardInterrupt:
        say("\nstopped")
        return 130
    finally:
        if results:
            say("\n" + render(results))
    return 0 if all(result.ok for result in results) else 1


def tell_unwritable(error: OSError) -> int:
    """Nobody reads any more, or there is no room: what ran was ended, and its figures are lost."""
    # The interpreter would flush once more at its end, and complain with a page of Python.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 141
    sys.stderr.write(f"{Path(sys.argv[0]).name}: error: the output cannot be written: {error.strerror}\n")
    return 1


if __name__ == "__main__":
    # A plain SIGTERM would leave the running stage behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    raise SystemExit(main())
