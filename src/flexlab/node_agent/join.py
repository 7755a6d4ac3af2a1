"""From a stock machine to a node."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from flexlab.control_plane.credentials import write_private
from flexlab.node_agent.config import OVERLAY, compose_config
from flexlab.node_agent.ready import wait_until_ready
from flexlab.node_agent.terminal import PROGRAM, Terminal
from flexlab.parts import Parts
from flexlab.parts.toolchain import machine_arch
from flexlab.paths import repository
from flexnode.clock import Clock

LUGGAGE = f"/root/{PROGRAM}"
"""Where everything lies on the machine until it is installed."""

ASK_LINE = "python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'"
MISSING_VALUES = 3  # `node-config` could not find out everything; what the lab's own lacks, the lab adds
READY_TIMEOUT = 900.0


def join(terminal: Terminal, parts: Parts, clock: Clock, *, timeout: float = READY_TIMEOUT) -> float:
    """Make the machine a node; the seconds from the agent's start until the cluster says Ready."""
    prepare(terminal, parts)
    begin = clock.monotonic()
    terminal.run(f"systemctl enable --now {PROGRAM}-agent")
    wait_until_ready(terminal, parts, clock, timeout=timeout)
    return clock.monotonic() - begin


def prepare(terminal: Terminal, parts: Parts) -> None:
    """Install the program and its configuration: all but the agent's start. Safe to repeat."""
    luggage = pack(terminal, parts)
    unpack(terminal, luggage)
    shutil.rmtree(luggage)  # the configuration in it holds a token


def unpack(terminal: Terminal, luggage: Path) -> None:
    """Bring onto the machine what was packed for it, and install it."""
    terminal.run(f"rm -rf {LUGGAGE}")
    terminal.copy(luggage, LUGGAGE)
    terminal.run(f"sh {LUGGAGE}/install.sh", timeout=300)
    folder, _, overlay = OVERLAY.rpartition("/")
    terminal.run(f"install -m 0600 {LUGGAGE}/config.json {LUGGAGE}/{overlay} {folder}/")
    terminal.run(f"rm -rf {LUGGAGE}")


def pack(terminal: Terminal, parts: Parts) -> Path:
    """A folder with all that the machine gets: the archive for its Python, and its configuration."""
    luggage = terminal.lab.node_folder(terminal.node) / "luggage"
    shutil.rmtree(luggage, ignore_errors=True)
    line = terminal.run(ASK_LINE).strip()
    terminal.run_here(*build_command(line, luggage))
    terminal.run_verb("cluster", "setup")
    printed = terminal.run_verb("cluster", "node-config", "--token", "new", expect=(0, MISSING_VALUES))
    ca = (terminal.lab.pki / "ca.crt").read_text()
    document = compose_config(json.loads(printed.stdout), kubernetes=parts.kubernetes, ca=ca)
    write_private(luggage / "config.json", json.dumps(document, indent=2).encode())
    shutil.copyfile(parts.overlay, luggage / OVERLAY.rpartition("/")[2])
    return luggage


def build_command(line: str, output: Path) -> tuple[str, ...]:
    """What builds the archive for a line of Python and this architecture, and install.sh beside it."""
    script = str(repository() / "scripts/build_dist.py")
    return (
        *(sys.executable, script),
        *("--python", line, "--arch", machine_arch().value, "--output", str(output)),
    )


def find_archive(folder: Path) -> Path:
    """The one that was built there."""
    (archive,) = folder.glob(f"{PROGRAM}-*.tar.gz")
    return archive
