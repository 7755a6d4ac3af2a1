"""A signal is heard at once, and the program's own handlers are back afterwards."""

from __future__ import annotations

import os
import signal

import pytest

from flexnode.agent.doorbell import Doorbell
from flexnode.agent.watch import Blind


@pytest.mark.parametrize(
    ("number", "stop", "again"),
    [(signal.SIGTERM, True, False), (signal.SIGINT, True, False), (signal.SIGHUP, False, True)],
)
def test_a_signal_ends_the_wait(number: signal.Signals, stop: bool, again: bool) -> None:
    bell = Doorbell()
    before = signal.getsignal(number)
    with bell.hung_up():
        os.kill(os.getpid(), number)
        bell.wait(3600)
    assert (bell.stop, bell.again) == (stop, again)
    assert signal.getsignal(number) is before
    bell.close()


@pytest.mark.timeout(20)
def test_one_that_came_before_the_wait_is_not_missed() -> None:
    bell = Doorbell()
    with bell.hung_up():
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(3):
            bell.wait(3600)
    bell.close()


@pytest.mark.timeout(20)
def test_something_to_read_ends_the_wait() -> None:
    bell = Doorbell()
    reader, writer = os.pipe()
    os.write(writer, b"x")
    with open(reader, "rb") as source:
        bell.wait(3600, [Blind(), source])
    os.close(writer)
    bell.close()
    assert not bell.stop
