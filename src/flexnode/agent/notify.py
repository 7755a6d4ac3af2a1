"""What systemd is told of a service of Type=notify, over the socket that it names: sd_notify(3)."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

ADDRESS = "NOTIFY_SOCKET"


@dataclass(frozen=True, kw_only=True, slots=True)
class Notifier:
    """Without an address, as under a person's shell, everything is said to nobody.

    What cannot be delivered is lost: the work matters more than who hears of it.
    """

    address: str = ""
    watchdog: float | None = None
    """Seconds after which systemd takes a silent service for dead; None: it does not listen."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Notifier:
        return cls(address=environ.get(ADDRESS, ""), watchdog=parse_watchdog(environ, os.getpid()))

    def ready(self) -> None:
        self._send("READY=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`."""
        self._send(f"STATUS={' '.join(text.split())}")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def reloading(self, now: float) -> None:
        """`now`: by the monotonic clock. `ready` ends it."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={int(now * 1e6)}")

    def _send(self, message: str) -> None:
        if not self.address:
            return
        # A leading @ stands for the zero byte of an abstract address.
        address = f"\0{self.address[1:]}" if self.address.startswith("@") else self.address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto(message.encode(), address)


def parse_watchdog(environ: Mapping[str, str], pid: int) -> float | None:
    """The limit that systemd set for this very process: sd_watchdog_enabled(3)."""
    limit, whose = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not limit.isdecimal() or not int(limit) or whose not in ("", str(pid)):
        return None
    return int(limit) / 1e6
