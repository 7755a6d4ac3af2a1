"""Swap: off for as long as the machine is a node, also after a reboot. The user's fstab is not edited."""

from __future__ import annotations

import re

from flexnode.host.door import Enablement, Host
from flexnode.resources.handler import Contents
from flexnode.resources.state import State, Swap

_PLAIN = re.compile(rb"[A-Za-z0-9:_.]")


class SwapHandler:
    """Swap() is none in use. An earlier state names what was in use: that is used again, nothing else is.

    A device's unit is masked before it is turned off, so that a crash in between leaves one that is still
    seen to be in use. To be used again is to be so after a reboot too: a masked device does not count.
    """

    def observe(self, host: Host, name: str, want: State, contents: Contents) -> State:
        used = set(host.kernel.swaps())
        return Swap(devices=tuple(sorted(used - {each for each in _devices(want) if _is_masked(host, each)})))

    def matches(self, want: State, found: State, contents: Contents) -> bool:
        wanted, used = _devices(want), _devices(found)
        return wanted <= used if wanted else not used

    def put(self, host: Host, name: str, state: State, contents: Contents) -> None:
        wanted, used = _devices(state), set(host.kernel.swaps())
        for device in sorted(wanted):
            if _is_masked(host, device):
                host.units.unmask(swap_unit(device))
            if device not in used:
                host.kernel.swap_on(device)
        if not wanted:
            for device in sorted(used):
                host.units.mask(swap_unit(device))
                host.kernel.swap_off(device)

    def preserve(self, host: Host, name: str, found: State, contents: Contents) -> None:
        """The devices found are all there is to keep."""


def _is_masked(host: Host, device: str) -> bool:
    return host.units.find(swap_unit(device)).enablement is Enablement.MASKED


def swap_unit(device: str) -> str:
    """The unit that systemd gives a swap device or file: what `systemd-escape --path --suffix=swap` says."""
    parts = [part for part in device.split("/") if part not in ("", ".")]
    return "-".join(_escape(part, first=not number) for number, part in enumerate(parts)) + ".swap"


def _escape(part: str, *, first: bool) -> str:
    """Everything but letters, digits and three more stands as hexadecimal bytes; so does a leading dot."""
    escaped = []
    for number, byte in enumerate(part.encode(errors="surrogateescape")):
        plain = _PLAIN.fullmatch(bytes([byte])) and not (first and number == 0 and byte == ord("."))
        escaped.append(chr(byte) if plain else f"\\x{byte:02x}")
    return "".join(escaped)


def _devices(state: State) -> frozenset[str]:
    return frozenset(state.devices) if isinstance(state, Swap) else frozenset()
