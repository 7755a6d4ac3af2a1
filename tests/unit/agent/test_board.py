"""The status file is whole whenever somebody reads it, however many write it."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from flexnode.agent.board import Board
from flexnode.flows.status import STATUS_FILE, AgentStatus

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def status(message: str) -> AgentStatus:
    return AgentStatus(
        version="1", pid=1, started=NOW, updated=NOW, phase="working", reason="Working", message=message
    )


def test_downloads_beside_each_other_do_not_take_the_file_from_each_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A status that is refused is old; a warning in every join's log makes people look for a full disk."""
    board = Board(tmp_path)

    def tell(name: str) -> None:
        for number in range(200):
            board.show(status(f"{name} {number}"))

    with caplog.at_level(logging.WARNING), ThreadPoolExecutor() as pool:
        for done in [pool.submit(tell, name) for name in "abcd"]:
            done.result()
    assert caplog.messages == []
    shown = msgspec.json.decode((tmp_path / STATUS_FILE).read_bytes(), type=AgentStatus)
    assert shown.message in {f"{name} 199" for name in "abcd"}
