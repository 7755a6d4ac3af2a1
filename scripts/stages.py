#!/usr/bin/env python3
"""Run named stages one after another, each bounded in time, and end with a table of how each went.

    stages.py --stage NAME SECONDS COMMAND [--stage ...]

A later stage runs although an earlier one failed: one red stage must not hide what the others would say. The
exit code is 1 if any failed. Output is passed on as it comes; a silent stage shows that it runs.
"""

from __future__ import annotations

import argparse
import os
import re
import selectors
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

SILENCE = 30.0
"""After how many silent seconds a stage is said to be still running."""

GRACE = 20.0
"""How long a stage that is out of time may take to clean up after itself."""

ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


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


def run(name: str, seconds: float, command: str) -> Result:
    say(f"\n── {name}: {command}")
    started = time.monotonic()
    try:
        child = subprocess.Popen(
            shlex.split(command),
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
    results: list[Result] = []
    try:
        for name, seconds, command in parser.parse_args().stage:
            results.append(run(name, float(seconds), command))
    except KeyboardInterrupt:
        say("\nstopped")
        return 130
    finally:
        if results:
            say("\n" + render(results))
    return 0 if all(result.ok for result in results) else 1


if __name__ == "__main__":
    # A plain SIGTERM would leave the running stage behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    raise SystemExit(main())
