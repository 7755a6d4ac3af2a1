"""The machine's serial console on the caller's terminal."""

from __future__ import annotations

import os
import select
import socket
import sys
import termios
import tty

from flexlab.errors import LabError
from flexlab.lab import Lab
from flexlab.machine.layout import Layout
from flexlab.machine.qmp import connected
from flexlab.model import NodeSpec

LEAVE = b"\x1d"
"""Ctrl-]"""


def attach_console(lab: Lab, node: NodeSpec) -> int:
    """Connect the caller's terminal with the machine's serial console until Ctrl-] or the machine's end."""
    layout = Layout(lab=lab, node=node)
    terminal = sys.stdin.fileno()
    try:
        with connected(layout.console) as console:
            kept = termios.tcgetattr(terminal) if os.isatty(terminal) else None
            try:
                if kept is not None:
                    tty.setraw(terminal)
                carry(console, terminal, sys.stdout.fileno())
            finally:
                if kept is not None:
                    termios.tcsetattr(terminal, termios.TCSADRAIN, kept)
    except OSError as error:
        raise LabError(
            f"the console of {node.name} cannot be reached: {error}",
            code="machine/no-console",
            hint=f"run `flexlab node start {node.name}`; what it said before is in {layout.serial_log}",
        ) from error
    return 0


def carry(console: socket.socket, keyboard: int, screen: int) -> None:
    """Carry bytes both ways until the user leaves or the console ends."""
    sources: list[socket.socket | int] = [console, keyboard]
    while console in sources:
        readable, _, _ = select.select(sources, (), ())
        if console in readable:
            data = console.recv(65536)
            if not data:
                return
            os.write(screen, data)
        if keyboard in readable:
            typed = os.read(keyboard, 65536)
            if LEAVE in typed:
                return
            if not typed:  # the input ended; the machine may still have to say something
                sources.remove(keyboard)
            console.sendall(typed)
