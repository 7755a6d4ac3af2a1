"""Whoever ends a benchmark gets its machine back: the lab ends, whatever ended the work."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from flexlab.cli.stopping import ending_with

# It says when it works and when it ends; ending, it waits for a line.
PROGRAM = """
import sys, time
from flexlab.cli.stopping import ending_with

def end():
    print("ending", flush=True)
    print("ended", sys.stdin.readline().strip(), flush=True)

with ending_with(end):
    print("working", flush=True)
    time.sleep(60)
"""


@contextmanager
def working() -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "working\n"
            yield child
        finally:
            child.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_work_and_cannot_end_the_ending(number: signal.Signals) -> None:
    with working() as child:
        assert child.stdout is not None
        child.send_signal(number)
        assert child.stdout.readline() == "ending\n"
        child.send_signal(number)
        child.send_signal(signal.SIGTERM)
        said, errors = child.communicate("cleanly\n", timeout=30)
    assert said == "ended cleanly\n"
    assert "KeyboardInterrupt" in errors


def test_an_end_without_a_signal_and_one_with_an_error_are_ends_too() -> None:
    ends: list[str] = []
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with ending_with(lambda: ends.append("done")):
        pass
    with pytest.raises(LookupError), ending_with(lambda: ends.append("failed")):
        raise LookupError
    assert ends == ["done", "failed"]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == handlers
