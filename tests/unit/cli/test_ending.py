"""However a verb ends, its user is told what happened, what to do next, and no secret."""

from __future__ import annotations

import errno
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest

from flexnode.cli.ending import INTERRUPTED, READER_GONE, end_with, run
from flexnode.cli.output import verb_options
from flexnode.config.documents import parse_document
from flexnode.errors import ConfigError, FlexError, UsageError
from flexnode.secret import Secret, list_living

PASSWORD = "correct horse 'battery' staple"
TOKEN = "abcdef.0123456789abcdef"


@pytest.fixture(autouse=True)
def _quiet_logging() -> Iterator[None]:
    """`--log-level` sets up logging for a process of its own, which this is not."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)


def group_of(act: Callable[[], Any]) -> click.Group:
    @click.group()
    def program() -> None:
        """A program with one verb."""

    @program.command()
    @verb_options
    def verb(output: str) -> Any:
        return act()

    return program


def end(act: Callable[[], Any], *arguments: str) -> int:
    return run(group_of(act), "program", ["verb", *arguments])


def raising(error: BaseException) -> Callable[[], Any]:
    def act() -> None:
        raise error

    return act


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FlexError("no", code="x/y"), 1),
        (FlexError("no", code="x/y", transient=True), 75),
        (UsageError("no"), 2),
        (ConfigError("no", code="config/invalid"), 2),
        (click.UsageError("no"), 2),
        (click.BadParameter("no"), 2),
        (click.Abort(), INTERRUPTED),
        (KeyboardInterrupt(), INTERRUPTED),
        (ValueError("no"), 1),
    ],
)
def test_each_failure_has_the_exit_code_of_the_contract(error: BaseException, code: int) -> None:
    assert end(raising(error)) == code


@pytest.mark.parametrize(("answer", "code"), [(None, 0), (0, 0), (3, 3), (10, 10), (75, 75)])
def test_a_verb_that_answers_a_code_ends_with_it(answer: int | None, code: int) -> None:
    assert end(lambda: answer) == code


def test_what_nobody_expected_is_told_as_a_defect_to_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert end(raising(ValueError("one value too many"))) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    first, second, third = shown.err.splitlines()
    assert first == "error: internal error: ValueError: one value too many"
    assert second == "  code: internal/defect (terminal)"
    assert "aks-flex-node bundle" in third
    assert "--log-level debug" in third


def test_a_script_gets_a_defect_in_the_form_of_any_other_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert end(raising(ValueError("one value too many")), "--output", "json") == 1
    record = json.loads(capsys.readouterr().out)["error"]
    assert record["code"] == "internal/defect"
    assert record["kind"] == "terminal"
    assert record["message"] == "internal error: ValueError: one value too many"


@pytest.mark.parametrize("words", [("--log-level", "debug"), ("--log-level=DEBUG",)])
def test_debugging_shows_where_it_happened(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    def act() -> None:
        try:
            {}["key"]
        except KeyError as error:
            raise ValueError("one value too many") from error

    assert end(act, *words) == 1
    told = capsys.readouterr().err
    assert told.index("KeyError: 'key'") < told.index("which led to:") < told.rindex("in act")
    assert told.count("Traceback") == 2


@pytest.mark.parametrize("words", [(), ("--log-level", "info"), ("--log-level", "error")])
def test_without_debugging_nobody_sees_a_page_of_python(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    end(raising(ValueError("one value too many")), *words)
    assert "Traceback" not in capsys.readouterr().err


def quoting(text: Callable[[str], str], secret: str = PASSWORD) -> Callable[[], None]:
    """A verb that holds a secret, and fails with a text that quotes it."""

    def act() -> None:
        held = Secret(secret)
        raise ValueError(text(held.reveal()))

    return act


def failing_while_handling() -> None:
    held = Secret(PASSWORD)
    try:
        raise KeyError(held.reveal())
    except KeyError:
        raise RuntimeError("something else") from None


def failing_from() -> None:
    held = Secret(PASSWORD)
    try:
        raise KeyError(held.reveal())
    except KeyError as error:
        raise RuntimeError(f"cannot use {held.reveal()}") from error


@pytest.mark.parametrize(
    "act",
    [
        quoting(lambda value: value),
        quoting(lambda value: f"invalid value {value!r} here"),
        quoting(lambda value: f"a line\n{value}\nanother"),
        quoting(lambda value: "x" * 290 + value),
        failing_while_handling,
        failing_from,
        # No `Secret` was made of these; their form gives them away.
        raising(ValueError(f"invalid literal for int(): '{TOKEN}'")),
        raising(ValueError(f"https://user:{PASSWORD.split()[0]}@proxy.example is no URL")),
        raising(ValueError("-----BEGIN PRIVATE KEY-----\nc29tZQ==\n-----END PRIVATE KEY-----")),
    ],
)
@pytest.mark.parametrize("words", [(), ("--log-level", "debug"), ("--output", "json")])
def test_no_defect_shows_a_secret(
    act: Callable[[], None], words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert end(act, *words) == 1
    shown = capsys.readouterr()
    # The source's own lines are in a traceback; a value that stands in the source is none to hide.
    told = "\n".join(line for line in (shown.out + shown.err).splitlines() if not line.startswith("    "))
    assert "internal error" in told
    for secret in (PASSWORD, repr(PASSWORD)[1:-1], "battery", TOKEN, "correct", "c29tZQ=="):
        assert secret not in told


def test_the_password_of_an_address_is_as_secret_as_the_address(capsys: pytest.CaptureFixture[str]) -> None:
    act = quoting(
        lambda value: f"cannot log in with {value.split(':')[2].split('@')[0]}", "http://u:pw-17-x@p:1"
    )
    assert end(act) == 1
    assert "pw-17-x" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [(), ("--log-level", "debug")])
def test_where_raw_text_is_taken_apart_its_words_are_left_out(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """No secret is known as such there, so that nobody could say what must not be shown."""

    class Broken:
        def add(self, *_: Any, **__: Any) -> None:
            raise RuntimeError("unexpected: hunter2")

    def act() -> None:
        report: Any = Broken()
        parse_document("{", report, yaml=False)

    assert end(act, *words) == 1
    told = capsys.readouterr().err
    assert "RuntimeError: (what it says is left out" in told
    assert "hunter2" not in "\n".join(line for line in told.splitlines() if not line.startswith("    "))


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("not even this")


def test_a_defect_that_cannot_be_put_into_words_has_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert end(raising(Unspeakable())) == 1
    assert capsys.readouterr().err.splitlines()[0] == "error: internal error: Unspeakable"


def test_a_secret_that_is_gone_is_remembered_by_nobody() -> None:
    """What keeps texts free of secrets must not itself keep them."""
    value = "a value that is used nowhere else"
    secret = Secret(value)
    assert secret in list_living()
    del secret
    assert all(each.reveal() != value for each in list_living() if type(each) is Secret)


def test_a_reader_that_went_away_is_no_defect(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BrokenPipeError):
        end(raising(BrokenPipeError()))
    assert capsys.readouterr().err == ""


def test_a_reader_that_went_away_while_click_wrote_is_told_apart_from_a_failure() -> None:
    def act() -> None:
        raise OSError(errno.EPIPE, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        end(act)


@pytest.mark.parametrize("words", [["version"], ["version", "--output", "json"], ["--help"]])
def test_a_full_disk_behind_the_output_is_said_and_is_no_defect(words: list[str]) -> None:
    program = (
        "from flexnode.cli.ending import end_with; from flexnode.cli.root import root; "
        f"end_with(root, 'program', {words})"
    )
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[:2] == [
        "error: the output cannot be written: No space left on device",
        "  code: output/unwritable (terminal)",
    ]
    assert len(done.stderr.splitlines()) == 3


def test_a_disk_that_is_full_elsewhere_is_not_called_the_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert end(raising(OSError(errno.ENOSPC, "No space left on device"))) == 1
    assert "internal/defect" in capsys.readouterr().err


def test_a_caller_that_closed_the_streams_sees_no_page_of_python() -> None:
    program = (
        "import os; from flexnode.cli.ending import end_with; from flexnode.cli.root import root; "
        "end_with(root, 'program', ['version'])"
    )
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$1" -c "{program}" >&-', "sh", sys.executable],
        stderr=subprocess.PIPE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_process_ends_with_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        end_with(group_of(lambda: 10), "program", ["verb"])
    assert caught.value.code == 10
    assert READER_GONE != INTERRUPTED
