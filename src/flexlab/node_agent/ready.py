"""Waiting for a node, with a word on what its agent does meanwhile."""

from __future__ import annotations

import json

from flexlab import machine
from flexlab.control_plane import run_kubectl
from flexlab.errors import LabError
from flexlab.node_agent.terminal import PROGRAM, Terminal
from flexlab.parts import Parts
from flexnode.clock import Clock
from flexnode.errors import CommandError

PAUSE = 2.0
ASK_AGENT = f"systemctl show -p StatusText -p ActiveState {PROGRAM}-agent"


def wait_until_ready(terminal: Terminal, parts: Parts, clock: Clock, *, timeout: float) -> None:
    """Return when the cluster says that the node is Ready."""
    name = terminal.node.name
    deadline = clock.monotonic() + timeout
    with terminal.progress.step(f"{name} becomes Ready"):
        while not is_ready(terminal, parts):
            said = ask_agent(terminal)
            terminal.progress.note(said)
            if clock.monotonic() > deadline:
                raise LabError(
                    f"{name} is not Ready after {timeout:g} s; its agent says: {said}",
                    code="lab/not-ready",
                    transient=True,
                    hint=f"flexlab node exec --name {terminal.lab.name} {name} journalctl -u {PROGRAM}-agent",
                )
            clock.sleep(PAUSE)


def is_ready(terminal: Terminal, parts: Parts) -> bool:
    """What the cluster says of the node; it may not know it yet, or be busy with itself."""
    question = ("get", "node", terminal.node.name, "--ignore-not-found", "-o", "json")
    try:
        answer = run_kubectl(terminal.lab, parts, *question).stdout
    except CommandError:
        return False
    conditions = json.loads(answer)["status"].get("conditions", ()) if answer else ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def ask_agent(terminal: Terminal) -> str:
    """The agent's own words on what it does, or how its unit is when it has none."""
    try:
        answer = machine.run(terminal.lab, terminal.node, ASK_AGENT).text
    except LabError as error:
        if not error.transient:
            raise
        return "the machine does not answer for now"
    properties = dict(line.split("=", 1) for line in answer.splitlines() if "=" in line)
    return properties.get("StatusText") or f"nothing; its unit is {properties.get('ActiveState', 'unknown')}"
