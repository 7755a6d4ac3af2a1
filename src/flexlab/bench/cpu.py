"""Seconds of a processor that a program takes, with all that it starts: here, and on a machine of the lab."""

from __future__ import annotations

import shlex
import sys

from flexlab import machine
from flexlab.lab import Lab
from flexlab.model import NodeSpec
from flexnode.host import Command, run

COUNT_CPU = """\
import resource, subprocess, sys
repeats, fine, argv = int(sys.argv[1]), (0, 3), sys.argv[2:]
for _ in range(repeats):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    if done.returncode not in fine:
        sys.exit(f"{argv[0]} exited with {done.returncode}")
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print((used.ru_utime + used.ru_stime) / repeats)
"""
"""A program that runs another one some times, and prints its CPU seconds, with those of all it started."""


def count_here(argv: tuple[str, ...], *, repeats: int) -> float:
    """The CPU seconds of one run, on this machine."""
    done = run(Command(argv=(sys.executable, "-c", COUNT_CPU, str(repeats), *argv), timeout=300))
    return float(done.text)


def count_there(lab: Lab, node: NodeSpec, argv: tuple[str, ...], *, repeats: int) -> float:
    """The CPU seconds of one run, on the lab's machine."""
    words = ("python3", "-c", COUNT_CPU, str(repeats), *argv)
    return float(machine.run(lab, node, shlex.join(words), timeout=900).text)
