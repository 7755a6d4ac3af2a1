"""systemd hears when the agent is ready, what it is at, and that it lives: it kills a silent one."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flexnode.agent.notify import Notifier, parse_watchdog


@contextmanager
def listening(address: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(address)
        receiver.settimeout(5)
        yield receiver


def test_each_message_arrives_as_systemd_reads_it(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    notifier = Notifier(address=address)
    with listening(address) as receiver:
        notifier.ready()
        notifier.status("two\nlines  at once")
        notifier.alive()
        notifier.reloading(12.5)
        notifier.stopping()
        heard = [receiver.recv(4096).decode() for _ in range(5)]
    assert heard == [
        "READY=1",
        "STATUS=two lines at once",
        "WATCHDOG=1",
        "RELOADING=1\nMONOTONIC_USEC=12500000",
        "STOPPING=1",
    ]


def test_an_abstract_address_is_understood(tmp_path: Path) -> None:
    name = f"flexnode-{tmp_path.name}"
    with listening(f"\0{name}") as receiver:
        Notifier(address=f"@{name}").ready()
        assert receiver.recv(4096) == b"READY=1"


@pytest.mark.parametrize("address", ["", "/nowhere/at/all"])
def test_without_anybody_who_listens_nothing_fails(address: str) -> None:
    Notifier(address=address).ready()


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({"WATCHDOG_USEC": "120000000", "WATCHDOG_PID": "7"}, 120.0),
        ({"WATCHDOG_USEC": "500000"}, 0.5),
        ({"WATCHDOG_USEC": "120000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_fed_only_where_systemd_asks_this_process(
    environ: dict[str, str], seconds: float | None
) -> None:
    assert parse_watchdog(environ, 7) == seconds
