"""The log tells everything but secrets, is root's alone, and does not fill the disk."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from flexnode.agent.log import FILE, KEPT, Log, PrivateFile
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
