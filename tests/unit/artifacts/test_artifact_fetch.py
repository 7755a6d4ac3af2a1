"""Fetching: the next source, resuming, restarting, and what stays behind."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from flexnode.artifacts import Code, Fetcher, Limits, Store
from flexnode.artifacts.failures import failure
from flexnode.artifacts.stream import Source
from flexnode.clock import FakeClock
from flexnode.errors import ArtifactError
from unit.artifacts.samples import QUICK, ScriptedSource, artifact_of, content, leftovers, put, write_file

MIB = 1 << 20


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def fetcher(store: Store, *sources: Source, limits: Limits = QUICK) -> Fetcher:
    return Fetcher(store, sources, clock=FakeClock(), limits=limits)


def lost() -> ArtifactError:
    return failure(Code.CONNECTION_LOST, "the connection broke")


def test_a_wrong_file_at_the_first_source_comes_from_the_second(store: Store) -> None:
    data = content(3 * MIB)
    bad, good = ScriptedSource([content(3 * MIB, seed=2)]), ScriptedSource([data])
    path = fetcher(store, bad, good).fetch(artifact_of(data))
    assert path.read_bytes() == data
    assert good.offsets == [0]
    assert leftovers(store) == []


def test_what_is_in_the_store_is_not_fetched_again(store: Store) -> None:
    artifact = put(store, b"here")
    source = ScriptedSource([])
    assert fetcher(store, source).fetch(artifact) == store.path(artifact.sha256)
    assert source.offsets == []


def test_a_file_that_rotted_in_the_store_is_fetched_anew(store: Store) -> None:
    data = content(1000)
    artifact = put(store, data)
    store.path(artifact.sha256).write_bytes(b"rotten")
    fetcher(store, ScriptedSource([data])).fetch(artifact)
    assert store.path(artifact.sha256).read_bytes() == data


def test_a_broken_connection_is_taken_up_where_it_broke(store: Store) -> None:
    data = content(5 * MIB)
    source = ScriptedSource([(data[: 2 * MIB], lost()), (data[: 4 * MIB], lost()), data])
    fetcher(store, source, limits=Limits(delays=())).fetch(artifact_of(data))
    assert source.offsets == [0, 2 * MIB, 4 * MIB]


def test_the_next_source_takes_up_what_the_first_one_began(store: Store) -> None:
    data = content(2 * MIB)
    first, second = ScriptedSource([(data[:1000], lost())]), ScriptedSource([data])
    fetcher(store, first, second).fetch(artifact_of(data))
    assert second.offsets == [1000]


def test_a_source_that_cannot_skip_starts_again(store: Store) -> None:
    data = content(2 * MIB)
    first = ScriptedSource([(data[:1000], lost())])
    second = ScriptedSource([data], resumes=False)
    assert fetcher(store, first, second).fetch(artifact_of(data)).read_bytes() == data


def test_a_wrong_beginning_restarts_from_zero_at_the_same_source(store: Store) -> None:
    data = content(2 * MIB)
    first = ScriptedSource([(b"wrong" * 100, lost())])
    second = ScriptedSource([data, data])
    assert fetcher(store, first, second).fetch(artifact_of(data)).read_bytes() == data
    assert second.offsets == [500, 0]


def test_a_killed_download_goes_on_in_the_next_run(store: Store) -> None:
    data = content(3 * MIB)
    artifact = artifact_of(data)
    write_file(store.root / "sha256" / f".{artifact.sha256}.partial", data[:MIB])
    source = ScriptedSource([data])
    fetcher(store, source).fetch(artifact)
    assert source.offsets == [MIB]
    assert leftovers(store) == []


def test_a_download_killed_before_it_got_its_name_needs_no_network(store: Store) -> None:
    data = content(MIB)
    artifact = artifact_of(data)
    write_file(store.root / "sha256" / f".{artifact.sha256}.partial", data)
    source = ScriptedSource([])
    assert fetcher(store, source).fetch(artifact).read_bytes() == data
    assert source.offsets == []


def test_a_transient_failure_keeps_what_is_worth_keeping(store: Store) -> None:
    data = content(4 * MIB)
    artifact = artifact_of(data)
    # Two attempts, and the second brings nothing: the first one's megabytes are kept for the next run.
    broken = ScriptedSource([(data[: 2 * MIB], lost()), lost()])
    with pytest.raises(ArtifactError) as caught:
        fetcher(store, broken, limits=Limits(delays=())).fetch(artifact)
    assert caught.value.transient
    assert leftovers(store) != []
    source = ScriptedSource([data])
    fetcher(store, source).fetch(artifact)
    assert source.offsets == [2 * MIB]
    assert leftovers(store) == []


def test_a_terminal_failure_leaves_nothing(store: Store) -> None:
    data = content(4 * MIB)
    with pytest.raises(ArtifactError) as caught:
        fetcher(store, ScriptedSource([content(4 * MIB, seed=9)])).fetch(artifact_of(data))
    assert caught.value.code == "artifact/digest-mismatch"
    assert leftovers(store) == []


def test_a_place_with_a_wrong_file_is_not_asked_again(store: Store) -> None:
    data = content(1000)
    wrong = ScriptedSource([b"wrong"])  # a second opening would find no script
    late = ScriptedSource([lost(), data])
    assert fetcher(store, wrong, late).fetch(artifact_of(data)).read_bytes() == data
    assert wrong.offsets == [0]


def test_a_pause_that_a_server_asks_for_is_kept(store: Store) -> None:
    data, clock = content(1000), FakeClock()
    busy = failure(Code.THROTTLED, "busy", retry_after=30)
    source = ScriptedSource([busy, data])
    Fetcher(store, [source], clock=clock, limits=Limits(delays=(1,))).fetch(artifact_of(data))
    assert 30 <= clock.monotonic() < 31


def test_a_source_that_sends_without_end_is_cut_off(store: Store) -> None:
    source = ScriptedSource([content(3 * MIB)])
    with pytest.raises(ArtifactError, match="more than the") as caught:
        fetcher(store, source).fetch(artifact_of(b"x", size=1000))
    assert caught.value.code == "artifact/digest-mismatch"
    assert leftovers(store) == []


def test_all_files_arrive_in_the_order_asked_for(store: Store, tmp_path: Path) -> None:
    from flexnode.artifacts.sources import Directory

    origin = Store(tmp_path / "origin")
    artifacts = [put(origin, content(10_000, seed=seed)) for seed in range(12)]
    wanted = [*artifacts, artifacts[0]]
    paths = fetcher(store, Directory(files=origin.root / "sha256")).fetch_all(wanted)
    assert paths == [store.path(artifact.sha256) for artifact in wanted]


def test_the_first_failure_stops_the_rest(store: Store, tmp_path: Path) -> None:
    from flexnode.artifacts.sources import Directory

    origin = Store(tmp_path / "origin")
    there = [put(origin, content(1000, seed=seed)) for seed in range(3)]
    gone = artifact_of(b"gone")
    with pytest.raises(ArtifactError) as caught:
        fetcher(
            store, Directory(files=origin.root / "sha256"), limits=Limits(parallel=1, delays=())
        ).fetch_all([gone, *there])
    assert caught.value.code == "artifact/not-found"
    assert store.digests() == ()
    assert leftovers(store) == []


def test_too_little_room_for_all_is_told_before_the_first_download(tmp_path: Path) -> None:
    store = Store(tmp_path, free=lambda _path: 1500)
    source = ScriptedSource([])
    artifacts = [artifact_of(content(1000, seed=seed), size=1000) for seed in range(2)]
    with pytest.raises(ArtifactError, match="needs 500 B more") as caught:
        fetcher(store, source).fetch_all(artifacts)
    assert caught.value.code == "artifact/no-space"
    assert source.offsets == []


def test_no_space_is_not_tried_again_at_other_sources(tmp_path: Path) -> None:
    data = content(1000)
    store = Store(tmp_path, free=lambda _path: 100)
    first, second = ScriptedSource([data]), ScriptedSource([])
    with pytest.raises(ArtifactError, match="needs 900 B more"):
        fetcher(store, first, second).fetch(artifact_of(data, size=1000))
    assert second.offsets == []
    assert leftovers(store) == []


def test_two_who_want_the_same_file_share_one_download(store: Store) -> None:
    data = content(2 * MIB)
    source = ScriptedSource([data])  # a second opening would fail
    start = threading.Barrier(2)
    paths: list[Path] = []

    def work() -> None:
        start.wait()
        paths.append(fetcher(store, source).fetch(artifact_of(data)))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths == [store.path(artifact_of(data).sha256)] * 2
    assert source.offsets == [0]


def test_an_artifact_that_nobody_offers_says_so(store: Store) -> None:
    with pytest.raises(ArtifactError, match="no source offers") as caught:
        fetcher(store).fetch(artifact_of(b"x"))
    assert caught.value.code == "artifact/no-source"
