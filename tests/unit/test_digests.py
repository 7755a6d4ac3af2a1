"""A digest that is remembered is never that of another content, whatever a program does to a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from flexnode.clock import FakeClock
from flexnode.digests import SETTLED, Digests, Known

LATER = FakeClock(datetime.now(UTC) + timedelta(hours=1))
"""A time at which every file of these tests has been left alone for long."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    return path


def of(data: bytes) -> str:
    return sha256(data).hexdigest()


def rotten(path: Path) -> Digests:
    """Knows `path` as it lies there, with a content that it has not: bytes changed, and no time did."""
    found = path.stat()
    known = Known(
        device=found.st_dev,
        inode=found.st_ino,
        size=found.st_size,
        mtime_ns=found.st_mtime_ns,
        ctime_ns=found.st_ctime_ns,
        sha256=of(b"two"),
    )
    return Digests(clock=LATER, known={str(path): known})


def test_a_file_that_lies_there_as_it_did_is_not_read_again(file: Path) -> None:
    digests = rotten(file)
    assert digests.of_file(file) == of(b"two")
    assert not digests.new


def test_who_wants_to_know_reads_again(file: Path) -> None:
    digests = rotten(file)
    digests.forget()
    assert digests.of_file(file) == of(b"one")
    assert digests.new
    assert digests.take_stock()[str(file)].sha256 == of(b"one")


def test_reading_again_what_did_not_rot_is_no_news(file: Path) -> None:
    digests = Digests(clock=LATER)
    digests.of_file(file)
    digests.take_stock()
    digests.forget()
    digests.of_file(file)
    assert not digests.new


def write_over(path: Path) -> None:
    path.write_bytes(b"two")


def write_and_set_the_time_back(path: Path) -> None:
    before = path.stat()
    path.write_bytes(b"two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def rename_another_over_it(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"two")
    other.replace(path)


def rename_another_of_its_age_over_it(path: Path) -> None:
    before = path.stat()
    other = path.with_name("other")
    other.write_bytes(b"two")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def swap_it_with_a_known_one(path: Path) -> None:
    aside = path.with_name("aside")
    path.rename(aside)
    path.with_name("known").rename(path)
    aside.rename(path.with_name("known"))


@pytest.mark.parametrize(
    "change",
    [
        write_over,
        write_and_set_the_time_back,
        rename_another_over_it,
        rename_another_of_its_age_over_it,
        swap_it_with_a_known_one,
    ],
)
def test_another_content_of_the_same_size_is_seen(file: Path, change: Callable[[Path], None]) -> None:
    digests = Digests(clock=LATER)
    known = file.with_name("known")
    known.write_bytes(b"two")
    assert (digests.of_file(known), digests.of_file(file)) == (of(b"two"), of(b"one"))
    change(file)
    assert digests.of_file(file) == of(b"two")


@pytest.mark.parametrize(
    ("age", "kept"), [(-3600.0, False), (0.0, False), (SETTLED - 0.5, False), (SETTLED + 0.5, True)]
)
def test_what_was_read_too_soon_after_a_change_is_not_remembered(file: Path, age: float, kept: bool) -> None:
    """A change in the same tick of the clock would leave the same times; a clock may be set back, too."""
    changed = datetime.fromtimestamp(file.stat().st_ctime_ns / 1e9, UTC)
    digests = Digests(clock=FakeClock(changed + timedelta(seconds=age)))
    assert digests.of_file(file) == of(b"one")
    assert digests.new is kept


def test_a_file_without_a_future_is_not_kept_for_others(file: Path) -> None:
    digests = Digests(clock=LATER)
    digests.of_file(file)
    file.unlink()
    assert digests.take_stock() == {}


def test_a_directory_in_a_files_place_is_none_and_leaves_nothing_open(tmp_path: Path) -> None:
    before = os.listdir("/proc/self/fd")
    with pytest.raises(IsADirectoryError):
        Digests(clock=LATER).of_file(tmp_path)
    assert os.listdir("/proc/self/fd") == before


def test_no_link_is_followed_to_a_file_that_was_not_asked_for(file: Path) -> None:
    link = file.with_name("link")
    link.symlink_to(file)
    with pytest.raises(OSError, match="symbolic links"):
        Digests(clock=LATER).of_file(link)
