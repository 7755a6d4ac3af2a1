"""An emulated machine's seconds must not pass for real ones."""

from __future__ import annotations

import sys

import pytest

from flexlab.bench.calibration import calibrate
from flexlab.bench.cpu import count_here
from flexnode.errors import CommandError

BUSY = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"


def test_the_machines_seconds_become_ours() -> None:
    calibration = calibrate([0.1, 0.11, 0.1], [1.2, 1.0, 0.9])
    assert calibration.scale == pytest.approx(10.0)
    assert calibration.to_native(8.0) == pytest.approx(0.8)


def test_one_disturbed_sample_changes_nothing() -> None:
    assert calibrate([0.1, 0.1, 9.0], [1.0, 1.0, 90.0]) == calibrate([0.1], [1.0])


@pytest.mark.parametrize(("native", "machine"), [([], [1.0]), ([1.0], []), ([0.0], [1.0])])
def test_without_samples_there_is_no_scale(native: list[float], machine: list[float]) -> None:
    with pytest.raises(ValueError, match="samples"):
        calibrate(native, machine)


def test_what_is_counted_is_processor_time_of_one_run_with_its_children() -> None:
    child = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BUSY!r}], check=True)"
    assert 0.2 <= count_here((sys.executable, "-c", child), repeats=2) < 2.0


def test_waiting_costs_no_processor_time() -> None:
    assert count_here(("sleep", "0.3"), repeats=1) < 0.2


def test_a_program_that_fails_is_not_measured() -> None:
    with pytest.raises(CommandError, match="exited with 7"):
        count_here((sys.executable, "-c", "raise SystemExit(7)"), repeats=1)
