"""What people type all the time starts at once: nothing is loaded for it that it does not need."""

from __future__ import annotations

import sys

import pytest

from flexnode.host import Command, run

LIBRARIES = {"asyncio", "email", "h2", "http", "httpx", "logging", "socket", "ssl", "subprocess", "tarfile"}
OURS = {f"flexnode.{name}" for name in ("artifacts", "config", "generation", "host", "kube")}
MODULES = 170
"""How many modules may be loaded in all: each of them costs about half a millisecond."""

SCRIPT = """\
import sys
from flexnode.cli.root import root
root.main(sys.argv[1:], standalone_mode=False)
print(*sys.modules)
"""


@pytest.mark.parametrize("verb", ["version", "status"])
def test_a_verb_that_only_tells_loads_no_more_than_it_needs(verb: str) -> None:
    done = run(Command(argv=(sys.executable, "-I", "-c", SCRIPT, verb)))
    loaded = done.text.splitlines()[-1].split()
    assert f"flexnode.cli.{verb}" in loaded
    assert not (LIBRARIES | OURS) & set(loaded)
    assert len(loaded) <= MODULES, len(loaded)
