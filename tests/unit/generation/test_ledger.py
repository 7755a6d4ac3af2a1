"""What the user's machine had is never forgotten and never replaced by what the product made of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flexnode.generation import DiskLedger, NoLedger
from flexnode.generation.ledger import join_states
from flexnode.resources.state import Absent, Blob, File, Packages, State, Swap, Unit

ORIGINAL = File(content=Blob(sha256="a" * 64), mode=0o640, xattrs={"user.note": b"\xff"}, mtime_ns=123)


@pytest.fixture
def ledger(tmp_path: Path) -> DiskLedger:
    return DiskLedger(tmp_path / "ledger")


def entry_of(ledger: DiskLedger, tmp_path: Path) -> Path:
    (path,) = (tmp_path / "ledger").glob("*.json")
    return path


def test_the_first_look_counts_and_no_later_one(ledger: DiskLedger, tmp_path: Path) -> None:
    ledger.record("file:/etc/x", ORIGINAL)
    written = entry_of(ledger, tmp_path).read_bytes()
    ledger.record("file:/etc/x", Absent())
    assert ledger.find("file:/etc/x") == ORIGINAL
    assert entry_of(ledger, tmp_path).read_bytes() == written
    assert not ledger.lacks("file:/etc/x", Absent())


def test_a_key_never_touched_has_no_entry(ledger: DiskLedger) -> None:
    assert ledger.find("file:/etc/x") is None
    assert ledger.lacks("file:/etc/x", Absent())
    assert ledger.touched() == ()
    assert ledger.blobs() == frozenset()


def test_packages_that_a_later_version_adds_are_purged_too(ledger: DiskLedger) -> None:
    """The entry itself stays; what the later want newly installs lies beside it."""
    ledger.record("packages:tools", Packages(installed=("curl",), absent=("conntrack",)))
    later = Packages(installed=("curl", "conntrack"), absent=("socat",))
    assert ledger.lacks("packages:tools", later)
    ledger.record("packages:tools", later)
    assert ledger.find("packages:tools") == Packages(installed=("curl",), absent=("conntrack", "socat"))
    assert not ledger.lacks("packages:tools", later)
    ledger.record("packages:tools", later)
    assert ledger.touched() == ("packages:tools",)


def test_swap_that_was_added_later_is_turned_on_again_too(ledger: DiskLedger) -> None:
    ledger.record("swap:all", Swap(devices=("/dev/sda2",)))
    ledger.record("swap:all", Swap(devices=("/swapfile",)))
    assert ledger.find("swap:all") == Swap(devices=("/dev/sda2", "/swapfile"))


names = st.lists(st.sampled_from("abcdef"), unique=True).map(tuple)


@given(first=names, second=names)
def test_looking_twice_at_the_same_adds_nothing(first: tuple[str, ...], second: tuple[str, ...]) -> None:
    known: State = Packages(absent=first)
    joined = join_states(known, Packages(absent=second))
    assert join_states(joined, Packages(absent=second)) == joined
    assert isinstance(joined, Packages)
    assert set(joined.absent) == {*first, *second}


def test_a_damaged_entry_is_not_taken_for_an_untouched_resource(ledger: DiskLedger, tmp_path: Path) -> None:
    """Else what the product put there would be recorded as the user's own."""
    ledger.record("file:/etc/x", ORIGINAL)
    entry_of(ledger, tmp_path).write_bytes(b"{")
    assert ledger.find("file:/etc/x") is None
    assert ledger.is_damaged("file:/etc/x")
    assert not ledger.lacks("file:/etc/x", Absent())
    assert ledger.blobs() is None


def test_kept_bytes_are_known_to_be_needed(ledger: DiskLedger) -> None:
    ledger.record("file:/etc/x", ORIGINAL)
    ledger.record("unit:a.service", Unit(enabled=True))
    assert ledger.blobs() == {"a" * 64}


def test_nothing_is_left_of_a_cleared_ledger(ledger: DiskLedger, tmp_path: Path) -> None:
    ledger.record("file:/etc/x", ORIGINAL)
    ledger.clear()
    assert not (tmp_path / "ledger").exists()
    ledger.clear()


def test_an_image_has_no_past() -> None:
    ledger = NoLedger()
    ledger.record("file:/etc/x", ORIGINAL)
    assert ledger.find("file:/etc/x") is None
    assert not ledger.lacks("file:/etc/x", ORIGINAL)
    assert ledger.touched() == ()
