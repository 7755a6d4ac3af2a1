"""A lab finds its own processes by their mark, at every moment of their lives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flexlab import process
from flexlab.process import Daemon, Place, Service


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(lab=tmp_path)
    yield place
    process.kill(process.find(tmp_path))


def start(place: Place, name: str, *argv: str) -> Daemon:
    return process.start(place, Service(name=name, argv=argv, log=place.lab / "log"))


def test_a_process_is_found_while_it_becomes_another_program(place: Place) -> None:
    """A machine that just started would otherwise be called dead."""
    for number in range(40):
        daemon = start(place, f"daemon-{number}", *["env"] * 5, "sleep", "60")
        for _ in range(20):
            assert process.find(place.lab, daemon.name) == [daemon]
        process.kill([daemon])


def test_a_helper_that_lost_its_parent_is_still_the_labs(place: Place) -> None:
    """A killed `flexlab up` would otherwise leave it running for ever."""
    parent = start(place, "parent", "sh", "-c", "sleep 60 & echo $! >child; wait")
    child = place.lab / "child"
    while not child.exists() or not child.read_text().strip():
        assert process.find(place.lab, "parent")
    process.kill([parent])
    assert [daemon.pid for daemon in process.find(place.lab)] == [int(child.read_text())]


def test_an_ended_process_is_not_found(place: Place) -> None:
    daemon = start(place, "daemon", "sleep", "60")
    process.stop([daemon])
    assert process.find(place.lab) == []
    process.stop([daemon])  # what ended by itself is no error


def test_a_lab_that_lost_its_folder_is_still_known(place: Place) -> None:
    """`flexlab down --all` would otherwise leave its machines running."""
    start(place, "daemon", "sleep", "60")
    assert place.lab in process.find_labs()
    process.kill(process.find(place.lab))
    assert place.lab not in process.find_labs()


def test_a_process_of_another_lab_is_left_alone(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    daemon = start(Place(lab=other), "daemon", "sleep", "60")
    assert process.find(place.lab) == []
    assert process.find(other) == [daemon]
    process.kill([daemon])
