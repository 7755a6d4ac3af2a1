"""However a program fails, its caller gets a failure that says which and why."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flexnode.errors import CommandError
from flexnode.host import Command, run


def caught(command: Command) -> CommandError:
    with pytest.raises(CommandError) as info:
        run(command)
    return info.value


def test_a_program_gets_its_input_and_a_plain_locale_and_nothing_else_to_read() -> None:
    done = run(Command(argv=("sh", "-c", "cat; echo $LC_ALL $EXTRA"), stdin=b"in ", env={"EXTRA": "x"}))
    assert done.text == "in C.UTF-8 x\n"
    assert run(Command(argv=("cat",))).stdout == b""


def test_an_exit_code_that_was_not_expected_quotes_the_last_words() -> None:
    error = caught(Command(argv=("sh", "-c", "echo reason >&2; exit 3")))
    assert (error.code, error.transient) == ("host/command-failed", False)
    assert "exited with 3: reason" in error.message
    assert run(Command(argv=("sh", "-c", "exit 3"), expect=(0, 3))).returncode == 3


def test_a_missing_program_is_named_with_what_to_do() -> None:
    error = caught(Command(argv=("no-such-program-here",)))
    assert error.code == "host/command-missing"
    assert "no-such-program-here" in error.hint


def test_a_program_that_hangs_can_be_tried_again() -> None:
    error = caught(Command(argv=("sleep", "60"), timeout=0.1))
    assert (error.code, error.transient) == ("host/command-timeout", True)


def test_a_file_that_is_no_program_of_this_machine_is_a_failure_and_no_crash(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_bytes(b"\x7fELF of another machine")
    assert caught(Command(argv=(str(file),))).code == "host/command-refused"
    file.chmod(0o755)
    assert caught(Command(argv=(str(file),))).code == "host/command-refused"


ANEW = """\
import os, sys
from flexnode.host import begin_anew
print(os.getpid(), sys.argv[1:], flush=True)
if not os.environ.get("AGAIN"):
    os.environ["AGAIN"] = "yes"
    begin_anew()
"""


def test_who_begins_anew_is_the_same_process_with_the_same_words() -> None:
    done = run(Command(argv=(sys.executable, "-c", ANEW, "agent", "--log-level", "debug")))
    first, second = done.text.splitlines()
    assert first == second
    assert first.endswith("['agent', '--log-level', 'debug']")
