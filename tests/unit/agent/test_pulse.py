"""A hung operation is ended by systemd, and a long legal one is not."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from flexnode.agent.notify import Notifier
from flexnode.agent.pulse import LOOP_PATIENCE, WORK_PATIENCE, Pulse
from flexnode.agent.telling import Telling
from flexnode.clock import FakeClock
from flexnode.host import apt, kernel
from flexnode.host.cri import client


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def pulse(clock: FakeClock) -> Pulse:
    return Pulse(notifier=Notifier(), clock=clock)


def test_a_loop_that_stands_still_is_given_up(pulse: Pulse, clock: FakeClock) -> None:
    clock.sleep(LOOP_PATIENCE)
    assert pulse.pass_on()
    clock.sleep(1)
    assert not pulse.pass_on()
    pulse.beat()
    assert pulse.pass_on()


def test_a_step_of_an_operation_may_take_as_long_as_its_programs(pulse: Pulse, clock: FakeClock) -> None:
    longest = max(apt._PATIENCE, kernel._SWAP_PATIENCE, client.PULL)
    with pulse.working():
        clock.sleep(longest)
        assert pulse.pass_on()
        clock.sleep(WORK_PATIENCE - longest + 1)
        assert not pulse.pass_on()
    clock.sleep(LOOP_PATIENCE + 1)
    assert not pulse.pass_on()


def test_progress_is_what_an_operation_lives_by(pulse: Pulse, clock: FakeClock) -> None:
    telling = Telling(notifier=Notifier(), pulse=pulse, clock=clock)
    with pulse.working(), telling.step("fetch"):
        for _ in range(10):
            clock.sleep(WORK_PATIENCE - 1)
            telling.note("a few bytes more")
            assert pulse.pass_on()


def test_systemd_is_told_while_the_work_waits(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(address)
        receiver.settimeout(10)
        pulse = Pulse(notifier=Notifier(address=address, watchdog=0.03), clock=FakeClock())
        with pulse.passed_on():
            assert receiver.recv(100) == b"WATCHDOG=1"
            assert receiver.recv(100) == b"WATCHDOG=1"
    assert "pulse" not in {thread.name for thread in threading.enumerate()}


def test_notes_that_come_with_every_byte_are_not_all_passed_on(pulse: Pulse, clock: FakeClock) -> None:
    told: list[str] = []
    telling = Telling(notifier=Notifier(), pulse=pulse, clock=clock, told=told.append)
    with telling.step("fetch kubelet"):
        for number in range(100):
            clock.sleep(0.1)
            telling.note(f"{number} MiB")
    assert told[0] == "fetch kubelet"
    assert 4 <= len(told) <= 6
    assert told[1].startswith("fetch kubelet: ")
