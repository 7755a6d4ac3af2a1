"""The log tells everything but secrets, is root's alone, and does not fill the disk."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from flexnode.clock import FakeClock
from flexnode.flows.log import FILE, KEPT, TOLD, Log, Logged, PrivateFile, written_down
from flexnode.progress import Silent
from flexnode.secret import Secret
from unit.config.samples import TOKEN


@pytest.fixture(autouse=True)
def _root_logger() -> Iterator[None]:
    """As it was, whatever a test makes of it."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    for handler in root.handlers[:]:
        root.removeHandler(handler)
        if handler not in handlers:
            handler.close()
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)


def test_a_line_goes_to_the_journal_and_into_the_file(tmp_path: Path) -> None:
    stream = io.StringIO()
    Log(stream).open(str(tmp_path / "log"), "info")
    logging.getLogger("flexnode.x").info("joined with %s", TOKEN)
    logging.getLogger("flexnode.x").debug("not at this level")
    text = (tmp_path / "log" / FILE).read_text()
    for told in (stream.getvalue(), text):
        assert "joined with <redacted>" in told
        assert TOKEN not in told
        assert "not at this level" not in told
    assert (tmp_path / "log" / FILE).stat().st_mode & 0o777 == 0o600


def test_secrets_in_a_traceback_are_taken_out_too(tmp_path: Path) -> None:
    stream = io.StringIO()
    Log(stream).open(str(tmp_path), "info")
    try:
        raise ValueError(f"cannot parse {TOKEN}")
    except ValueError:
        logging.getLogger("flexnode.x").exception("it failed")
    assert "ValueError" in stream.getvalue()
    assert TOKEN not in stream.getvalue()


def test_a_secret_that_looks_like_any_word_is_taken_out_too(tmp_path: Path) -> None:
    stream = io.StringIO()
    Log(stream).open(str(tmp_path), "info")
    secret = Secret("correct-horse")
    logging.getLogger("flexnode.x").info("somebody said %s", secret.reveal())
    assert "correct-horse" not in stream.getvalue()


def test_another_level_or_directory_is_taken_over_at_once(tmp_path: Path) -> None:
    stream = io.StringIO()
    log = Log(stream)
    log.open(str(tmp_path / "a"), "info")
    log.open(str(tmp_path / "b"), "debug")
    logging.getLogger("flexnode.x").debug("in detail")
    assert "in detail" in (tmp_path / "b" / FILE).read_text()
    assert stream.getvalue().count("in detail") == 1


def test_a_directory_that_cannot_be_made_leaves_the_journal(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    stream = io.StringIO()
    Log(stream).open(str(tmp_path / "file" / "log"), "info")
    logging.getLogger("flexnode.x").info("still here")
    assert "cannot be written to" in stream.getvalue()
    assert "still here" in stream.getvalue()


def test_the_file_is_rotated_and_only_a_few_are_kept(tmp_path: Path) -> None:
    handler = PrivateFile(tmp_path / FILE)
    handler.maxBytes = 1000
    for number in range(300):
        handler.emit(logging.LogRecord("x", logging.INFO, "", 0, f"line {number} {'.' * 50}", (), None))
    handler.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [FILE, *(f"{FILE}.{number}" for number in range(1, KEPT + 1))]
    assert all(
        path.stat().st_size <= 1000 and path.stat().st_mode & 0o777 == 0o600 for path in tmp_path.iterdir()
    )


def test_a_file_that_another_process_put_aside_is_not_written_to_any_more(tmp_path: Path) -> None:
    """The agent and a person's command write to the same log."""
    agent, command = PrivateFile(tmp_path / FILE), PrivateFile(tmp_path / FILE)
    for handler, text in ((agent, "one"), (command, "two")):
        handler.emit(record(text))
    command.doRollover()
    for handler, text in ((agent, "three"), (command, "four")):
        handler.emit(record(text))
    for handler in (agent, command):
        handler.close()
    assert (tmp_path / f"{FILE}.1").read_text() == "one\ntwo\n"
    assert (tmp_path / FILE).read_text() == "three\nfour\n"


def test_a_line_that_cannot_be_written_costs_the_line(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    handler = PrivateFile(tmp_path / FILE)
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).symlink_to("/etc/hosts")
    handler.emit(record("lost"))
    handler.close()
    assert capfd.readouterr() == ("", "")


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("x", logging.INFO, "", 0, text, (), None)


def open_terminal() -> io.StringIO:
    """What a person sees, with nothing listening but what is under test."""
    root = logging.getLogger()
    for handler in root.handlers[:]:
        root.removeHandler(handler)
    root.setLevel(logging.WARNING)
    return io.StringIO()


def test_a_command_is_written_down_in_detail_and_the_terminal_hears_what_it_would_hear_without(
    tmp_path: Path,
) -> None:
    terminal = open_terminal()
    with written_down(str(tmp_path), "info", terminal):
        logging.getLogger("flexnode.x").info("in passing")
        logging.getLogger("flexnode.x").warning("mind %s", TOKEN)
        logging.getLogger(TOLD).error("shown in a form of its own")
        with Logged(progress=Silent(), clock=FakeClock()).step("fetch"):
            pass
    text = (tmp_path / FILE).read_text()
    for told in ("INFO in passing", "WARNING mind <redacted>", "in a form of its own", "done: fetch (0.0 s)"):
        assert told in text
    assert TOKEN not in text
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert terminal.getvalue().startswith("mind ")
    assert terminal.getvalue().count("\n") == 1


def test_after_a_command_nothing_listens_that_did_not_before(tmp_path: Path) -> None:
    terminal = open_terminal()
    with written_down(str(tmp_path), "debug", terminal):
        pass
    logging.getLogger(TOLD).info("too late")
    assert logging.getLogger().handlers == []
    assert logging.getLogger().level == logging.WARNING
    assert "too late" not in (tmp_path / FILE).read_text()


def test_a_command_goes_on_where_no_log_can_be_written(tmp_path: Path) -> None:
    terminal = open_terminal()
    (tmp_path / "file").write_text("")
    with written_down(str(tmp_path / "file" / "log"), "info", terminal):
        logging.getLogger(TOLD).error("it failed")
    assert "cannot be written to" in terminal.getvalue()
    assert "it failed" not in terminal.getvalue()


def test_a_step_that_failed_is_written_down_as_failed(tmp_path: Path) -> None:
    terminal = open_terminal()

    def fail() -> None:
        with Logged(progress=Silent(), clock=FakeClock()).step("fetch"):
            raise RuntimeError

    with written_down(str(tmp_path), "info", terminal), pytest.raises(RuntimeError):
        fail()
    assert "failed: fetch (0.0 s)" in (tmp_path / FILE).read_text()
