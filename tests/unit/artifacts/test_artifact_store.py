"""What lies in the store is what its name says, or is not used."""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path

import pytest

from flexnode.artifacts import Store
from flexnode.errors import ArtifactError
from unit.artifacts.samples import artifact_of, content, leftovers, put, write_file


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_a_file_in_the_store_is_read_only_and_named_by_its_digest(store: Store, tmp_path: Path) -> None:
    data = content(100_000)
    artifact = artifact_of(data)
    path = store.add(write_file(tmp_path / "file", data), artifact.sha256)
    assert path == store.root / "sha256" / artifact.sha256
    assert path.stat().st_mode & 0o7777 == 0o444
    assert path.read_bytes() == data
    assert leftovers(store) == []


def test_a_wrong_local_file_does_not_enter(store: Store, tmp_path: Path) -> None:
    wanted = artifact_of(b"wanted").sha256
    with pytest.raises(ArtifactError, match="as it should") as caught:
        store.add(write_file(tmp_path / "file", b"other"), wanted)
    assert caught.value.code == "artifact/digest-mismatch"
    assert store.digests() == ()
    assert leftovers(store) == []


def test_a_missing_local_file_is_a_failure_and_no_crash(store: Store, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError) as caught:
        store.add(tmp_path / "nothing", "0" * 64)
    assert caught.value.code == "artifact/unreadable"
    assert leftovers(store) == []


def test_a_file_that_rotted_on_disk_is_removed_and_not_used(store: Store) -> None:
    artifact = put(store, content(1000))
    path = store.path(artifact.sha256)
    path.write_bytes(content(1000, seed=2))
    with pytest.raises(ArtifactError, match="not in") as caught:
        store.require(artifact.sha256, name="sample")
    assert caught.value.code == "artifact/not-staged"
    assert not path.exists()


def test_a_link_in_the_store_is_not_followed(store: Store, tmp_path: Path) -> None:
    data = content(10)
    artifact = artifact_of(data)
    outside = write_file(tmp_path / "outside", data)
    path = store.path(artifact.sha256)
    path.parent.mkdir(parents=True)
    path.symlink_to(outside)
    assert store.find(artifact.sha256) is None
    assert outside.exists()


@pytest.mark.parametrize("name", ["", "0" * 63, "0" * 65, "A" * 64, "../" + "0" * 61, "g" * 64])
def test_what_is_not_a_digest_never_becomes_a_path(store: Store, name: str) -> None:
    with pytest.raises(ValueError, match="not a SHA-256"):
        store.path(name)


def test_collecting_keeps_what_is_wanted_and_what_somebody_is_filling(store: Store) -> None:
    keep, drop = put(store, b"keep"), put(store, b"drop")
    files = store.root / "sha256"
    abandoned = write_file(files / f".{'a' * 64}.partial", b"half")
    busy = write_file(files / f".{'b' * 64}.partial", b"half")
    with busy.open("rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        assert store.collect([keep.sha256]) == (drop.sha256,)
    assert store.digests() == (keep.sha256,)
    assert not abandoned.exists()
    assert busy.exists()


def test_a_full_disk_is_told_before_the_first_byte(tmp_path: Path) -> None:
    store = Store(tmp_path, free=lambda _path: 1_000_000)
    with pytest.raises(ArtifactError, match=r"needs 2\.5 MB more") as caught:
        store.require_space(3_500_000, what="2 files")
    assert caught.value.code == "artifact/no-space"
    assert caught.value.transient


def test_a_read_only_store_says_so(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file where the store should be")
    with pytest.raises(ArtifactError) as caught:
        Store(tmp_path / "store").require_space(1, what="a file")
    assert caught.value.code == "artifact/store-unwritable"


def test_two_who_fill_the_same_file_take_turns(store: Store) -> None:
    data = content(1000)
    sha256 = artifact_of(data).sha256
    entered, order = threading.Event(), []

    def second() -> None:
        entered.set()
        with store.partial(sha256) as partial:
            order.append("second")
            assert store.find(sha256) is not None
            partial.discard()

    with store.partial(sha256) as partial:
        thread = threading.Thread(target=second)
        thread.start()
        entered.wait()
        partial.write(data)
        partial.commit()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert leftovers(store) == []


def test_a_store_that_cannot_be_listed_is_not_taken_for_an_empty_one(store: Store) -> None:
    store.root.mkdir()
    (store.root / "sha256").symlink_to("sha256")
    with pytest.raises(ArtifactError) as caught:
        store.digests()
    assert caught.value.code == "artifact/unreadable"
