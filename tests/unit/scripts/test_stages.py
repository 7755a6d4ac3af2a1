"""The stage runner: what somebody who watches a long run relies on."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "stages.py"


def run_stages(*stages: tuple[str, str, str]) -> subprocess.CompletedProcess[str]:
    words = [word for stage in stages for word in ("--stage", *stage)]
    return subprocess.run(
        [sys.executable, SCRIPT, *words], capture_output=True, text=True, timeout=60, check=False
    )


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


def test_the_figures_of_every_stage_stand_at_the_end_even_after_a_failure() -> None:
    done = run_stages(
        ("check", "50", python("print('all good')")),
        ("unit", "50", python("print('1 failed, 2 passed in 0.1s'); raise SystemExit(1)")),
        ("faults", "50", python("print('3 passed in 0.1s')")),
    )
    assert done.returncode == 1
    table = done.stdout.splitlines()[-4:]
    assert [row.split()[:2] for row in table[:3]] == [["check", "ok"], ["unit", "failed"], ["faults", "ok"]]
    assert table[1].endswith("1 failed, 2 passed in 0.1s")
    assert table[3].startswith("total")


def test_all_green_is_exit_code_zero() -> None:
    assert run_stages(("check", "50", python("pass"))).returncode == 0


def test_a_stage_that_hangs_is_ended_and_the_next_one_runs() -> None:
    hang = "import signal; print('waiting', flush=True); signal.pause()"
    done = run_stages(("vm", "1", python(hang)), ("after", "50", python("print('ran')")))
    assert done.returncode == 1
    assert "out of time" in done.stdout
    assert done.stdout.splitlines()[-2].startswith("after")
    assert "ran" in done.stdout


def test_a_program_that_is_missing_fails_its_stage_only() -> None:
    done = run_stages(("lint", "5", "no-such-program-here"), ("unit", "50", python("print('ran')")))
    assert done.returncode == 1
    assert "cannot start" in done.stdout
    assert "ran" in done.stdout


@pytest.mark.parametrize(
    ("seconds", "command", "words"),
    [
        ("soon", "true", "is no number of seconds"),
        ("nan", "true", "is no number of seconds"),
        ("inf", "true", "is no number of seconds"),
        ("-5", "true", "is no number of seconds"),
        ("5", "echo 'x", "No closing quotation"),
        ("5", " ", "an empty text is no command"),
    ],
)
def test_a_stage_that_cannot_be_one_is_refused_before_the_first_runs(
    seconds: str, command: str, words: str
) -> None:
    done = run_stages(("first", "50", python("print('ran')")), ("vm", seconds, command))
    assert done.returncode == 2
    assert "ran" not in done.stdout
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_log_that_is_full_ends_it_in_words() -> None:
    words = ["--stage", "unit", "50", python("print('ran')")]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, SCRIPT, *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "stages.py: error: the output cannot be written: No space left on device\n"
