"""Two operations never change one machine at once, and nothing that died keeps it locked."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flexnode.clock import FakeClock
from flexnode.errors import StateError, exit_code
from flexnode.generation.lock import find_holder, hold

HOLDER = """
import sys
from pathlib import Path
from flexnode.clock import SystemClock
from flexnode.generation.lock import hold
with hold(Path(sys.argv[1]), "upgrade", clock=SystemClock()):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(lock: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLDER, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_operation_is_told_who_is_busy(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with another_process(lock) as process:
        with (
            pytest.raises(StateError, match=f"upgrade, process {process.pid}, since") as caught,
            hold(lock, "repair", clock=FakeClock()),
        ):
            pytest.fail("two hold the machine")
        holder = find_holder(lock)
        assert holder is not None
        assert (holder.pid, holder.operation) == (process.pid, "upgrade")
    assert caught.value.code == "state/busy"
    assert exit_code(caught.value) == 75


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    """Its words, with its process number that another program may have by now, still stand in the file."""
    lock = tmp_path / "lock"
    with another_process(lock) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert "upgrade" in lock.read_text()
        assert find_holder(lock) is None
        with hold(lock, "repair", clock=FakeClock()):
            assert "repair" in lock.read_text()


def test_words_of_an_earlier_boot_are_not_believed(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    clock = FakeClock()
    words = '{"pid":1,"boot":"another","operation":"upgrade","since":"2026-01-01T00:00:00Z"}'
    with hold(lock, "repair", clock=clock):
        lock.write_text(words)
        with pytest.raises(StateError) as caught, hold(lock, "repair", clock=clock):
            pytest.fail("two hold the machine")
    assert "upgrade" not in caught.value.message
    with hold(lock, "repair", clock=clock):
        pass


def test_nobody_is_named_once_the_operation_ended(tmp_path: Path) -> None:
    with hold(tmp_path / "lock", "repair", clock=FakeClock()):
        pass
    assert (tmp_path / "lock").read_text() == ""
    assert find_holder(tmp_path / "lock") is None
    assert find_holder(tmp_path / "nothing") is None


def test_a_failing_operation_lets_go_too(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="oops"), hold(tmp_path / "lock", "repair", clock=FakeClock()):
        raise ValueError("oops")
    with hold(tmp_path / "lock", "repair", clock=FakeClock()):
        pass
