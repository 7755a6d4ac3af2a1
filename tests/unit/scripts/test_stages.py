"""The stage runner: what somebody who watches a long run relies on."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

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
