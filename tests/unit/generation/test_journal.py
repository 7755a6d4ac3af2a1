"""What was about to be done is known after a crash at any byte: nothing is forgotten, nothing made up."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexnode.errors import StateError
from flexnode.generation.durable import checksum
from flexnode.generation.journal import (
    Changing,
    Confirmed,
    Done,
    Journal,
    Opened,
    Record,
    Restarted,
    RolledBack,
    Stopped,
    Verified,
    parse_record,
    render_record,
)
from flexnode.resources import Change, Disruption
from flexnode.resources.state import Absent, Blob, File, Text, Unit


def change(key: str, *restarts: str, reloads: tuple[str, ...] = ()) -> Changing:
    before = File(content=Blob(sha256="0" * 64), xattrs={"user.x": b"\x00\xff"}, mtime_ns=1)
    after = File(content=Text(text="new\n"))
    return Changing(change=Change(key=key, before=before, after=after, restarts=restarts, reloads=reloads))


units = st.sampled_from(["containerd.service", "kubelet.service"])
records: st.SearchStrategy[Record] = st.one_of(
    st.builds(Opened, target=st.sampled_from("ab"), remaining=st.floats(0, 900), operation=st.text()),
    st.builds(change, st.sampled_from(["file:/a", "file:/b"]), units),
    st.builds(Done, key=st.just("owned:pods")),
    st.builds(Restarted, unit=units),
    st.sampled_from([Verified(), Confirmed(), RolledBack(), Stopped()]),
)


def written(folder: str, entries: list[Record]) -> Path:
    journal = Journal.load(Path(folder) / "journal")
    for entry in entries:
        journal.append(entry)
    return journal.path


@given(entries=st.lists(records, max_size=6))
@settings(max_examples=30)
def test_every_record_comes_back(entries: list[Record]) -> None:
    with TemporaryDirectory() as folder:
        loaded = Journal.load(written(folder, entries))
        assert loaded.records == entries
        assert not loaded.warning


@given(entries=st.lists(records, min_size=1, max_size=4), data=st.data())
@settings(max_examples=60)
def test_a_journal_torn_at_any_byte_has_its_whole_records_and_can_be_written_on(
    entries: list[Record], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        path = written(folder, entries)
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        loaded = Journal.load(path)
        assert loaded.records == entries[: whole[:cut].count(b"\n")]
        assert not loaded.warning
        loaded.append(Verified())
        assert Journal.load(path).records == loaded.records


@given(entries=st.lists(records, min_size=1, max_size=4), data=st.data())
@settings(max_examples=60)
def test_a_wrong_byte_loses_the_record_it_is_in_and_no_other(
    entries: list[Record], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        path = written(folder, entries)
        rotten = bytearray(path.read_bytes())
        at = data.draw(st.integers(0, len(rotten) - 1))
        line = rotten[:at].count(b"\n")
        rotten[at] ^= data.draw(st.integers(1, 255))
        path.write_bytes(bytes(rotten))
        loaded = Journal.load(path)
        # A line feed that rotted takes the record behind it along, too.
        behind = entries[line + 2 :]
        assert loaded.records[:line] == entries[:line]
        assert loaded.records[len(loaded.records) - len(behind) :] == behind
        assert all(each in entries for each in loaded.records)


@given(junk=st.binary(max_size=200))
def test_junk_is_no_record(junk: bytes) -> None:
    assert parse_record(junk) is None


def test_a_journal_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    record = b'{"is":"teleported"}'
    line = b'{"schema":2,"sha256":"%s","record":%s}\n' % (checksum(2, record).encode(), record)
    path = tmp_path / "journal"
    path.write_bytes(render_record(Opened(target="a")) + line)
    with pytest.raises(StateError, match="newer") as caught:
        Journal.load(path)
    assert caught.value.code == "state/newer-version"


def journal_of(tmp_path: Path, *entries: Record) -> Journal:
    return Journal(path=tmp_path / "journal", records=list(entries))


def owed(journal: Journal) -> dict[str, tuple[str, ...]]:
    return {each.key: each.restarts + each.reloads for each in journal.owed()}


def test_a_unit_is_owed_what_changed_since_it_last_started(tmp_path: Path) -> None:
    journal = journal_of(
        tmp_path,
        Opened(target="a"),
        change("file:/one", "containerd.service"),
        Restarted(unit="containerd.service"),
        change("file:/two", "containerd.service", reloads=("kubelet.service",)),
        Opened(target="a", attempt=2),
    )
    assert owed(journal) == {"file:/one": (), "file:/two": ("containerd.service", "kubelet.service")}


def test_before_is_what_was_there_before_the_whole_operation(tmp_path: Path) -> None:
    first = Changing(change=Change(key="unit:a", before=Unit(active=True), after=Absent()))
    again = Changing(change=Change(key="unit:a", before=Unit(active=False), after=Absent()))
    journal = journal_of(tmp_path, Opened(target="a"), first, Opened(target="a", attempt=2), again)
    assert journal.before("unit:a") == Unit(active=True)
    assert journal.before("unit:b") is None
    assert journal.begun() == {"unit:a": Absent()}


def test_what_left_for_another_target_has_not_left_for_this_one(tmp_path: Path) -> None:
    leaving = (Opened(target="empty"), Done(key="owned:pods", boot="1"))
    left = {"owned:pods": "1"}
    assert journal_of(tmp_path, *leaving).done() == left
    assert journal_of(tmp_path, *leaving, Opened(target="empty", attempt=2)).done() == left
    joined_again = (*leaving, Opened(target="a"), Opened(target="empty"))
    assert journal_of(tmp_path, *joined_again).done() == {}


def test_a_verdict_counts_only_while_nothing_changed_after_it(tmp_path: Path) -> None:
    opened = Opened(target="a")
    assert journal_of(tmp_path, opened, Verified()).has(Verified)
    assert not journal_of(tmp_path, opened, Verified(), change("file:/a")).has(Verified)
    assert not journal_of(tmp_path, opened, Verified(), Opened(target="b")).has(Verified)


def test_time_is_counted_per_attempt(tmp_path: Path) -> None:
    journal = journal_of(
        tmp_path,
        Opened(target="a"),
        Verified(at=40.0),
        Opened(target="a", attempt=2),
        Restarted(unit="x", at=7.5),
    )
    assert journal.spent() == 7.5


def test_an_ended_operation_leaves_no_journal(tmp_path: Path) -> None:
    journal = Journal.load(tmp_path / "journal")
    assert not journal.open
    journal.append(Opened(target="a"))
    assert journal.open
    assert journal.path.stat().st_mode & 0o7777 == 0o600
    journal.close()
    assert not journal.open
    assert not journal.path.exists()


def test_disruption_survives_being_written(tmp_path: Path) -> None:
    dear = Changing(
        change=Change(key="file:/a", before=Absent(), after=Absent(), disruption=Disruption.DRAIN)
    )
    journal = Journal.load(tmp_path / "journal")
    journal.append(dear)
    assert Journal.load(tmp_path / "journal").records == [dear]
