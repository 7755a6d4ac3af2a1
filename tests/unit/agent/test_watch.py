"""A change is heard of at once, however it is made: written, replaced, removed, or in a new directory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from flexnode.agent.watch import Inotify


@pytest.fixture
def watch() -> Iterator[Inotify]:
    watch = Inotify()
    yield watch
    watch.close()


def test_writing_replacing_chmod_and_removing_are_heard(watch: Inotify, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text("one")
    watch.follow([str(file)])
    assert watch.changed() == frozenset()
    file.write_text("two")
    assert watch.changed() == {str(file)}
    (tmp_path / "new").write_text("three")
    assert watch.changed() == frozenset()
    (tmp_path / "new").rename(file)
    assert watch.changed() == {str(file)}
    file.chmod(0o600)
    assert watch.changed() == {str(file)}
    file.unlink()
    assert watch.changed() == {str(file)}
    assert watch.changed() == frozenset()


def test_reading_is_no_change(watch: Inotify, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text("one")
    watch.follow([str(file)])
    file.read_text()
    assert watch.changed() == frozenset()


def test_other_files_of_the_directory_are_nobody_s_business(watch: Inotify, tmp_path: Path) -> None:
    watch.follow([str(tmp_path / "ours")])
    (tmp_path / "theirs").write_text("x")
    assert watch.changed() == frozenset()


def test_what_lies_in_a_directory_that_is_not_there_yet_is_heard_of(watch: Inotify, tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "config.json"
    watch.follow([str(file)])
    file.parent.mkdir(parents=True)
    assert watch.changed() == {str(file)}
    file.write_text("one")
    assert watch.changed() == {str(file)}


def test_a_directory_that_is_moved_away_and_made_again_is_followed(watch: Inotify, tmp_path: Path) -> None:
    folder = tmp_path / "config.d"
    folder.mkdir()
    file = folder / "10.json"
    file.write_text("one")
    watch.follow([str(file)])
    folder.rename(tmp_path / "elsewhere")
    assert watch.changed() == {str(file)}
    (tmp_path / "elsewhere" / "10.json").write_text("not ours any more")
    watch.changed()
    shutil.rmtree(tmp_path / "elsewhere")
    watch.changed()
    folder.mkdir()
    assert watch.changed() == {str(file)}
    file.write_text("two")
    assert watch.changed() == {str(file)}


def test_files_that_are_followed_no_more_are_not_heard_of(watch: Inotify, tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "x", tmp_path / "b" / "x"
    for file in (first, second):
        file.parent.mkdir()
        file.write_text("one")
    watch.follow([str(first)])
    watch.follow([str(second)])
    first.write_text("two")
    assert watch.changed() == frozenset()
    second.write_text("two")
    assert watch.changed() == {str(second)}


def test_what_happened_before_is_no_news(watch: Inotify, tmp_path: Path) -> None:
    """The agent's own operations write to the files that it watches."""
    file = tmp_path / "x"
    file.write_text("one")
    watch.follow([str(file)])
    file.write_text("two")
    watch.follow([str(file)])
    assert watch.changed() == frozenset()
    file.write_text("three")
    assert watch.changed() == {str(file)}


def test_no_event_is_left_over_to_wake_the_agent_again(watch: Inotify, tmp_path: Path) -> None:
    file = tmp_path / "x"
    watch.follow([str(file)])
    for number in range(3000):
        file.write_text(str(number))
    assert watch.changed() == {str(file)}
    with pytest.raises(BlockingIOError):
        os.read(watch.fileno(), 4096)
