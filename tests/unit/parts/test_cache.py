"""What is built once is used again, and only when it is what was built."""

from __future__ import annotations

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flexlab.parts.cache import ensure

from .fakes import FakeJob, Steps


def test_a_second_run_builds_nothing(tmp_path: Path) -> None:
    job, steps = FakeJob(), Steps()
    first = ensure(job, tmp_path, steps)
    second = ensure(job, tmp_path, steps)
    assert (job.made, steps.titles) == (1, ["build tool 1"])
    assert second.path("tool").read_bytes() == b"content"
    assert second == first


def test_other_inputs_are_built_beside_what_is_there(tmp_path: Path) -> None:
    job = FakeJob()
    old = ensure(job, tmp_path, Steps())
    job.key, job.files = {"source": "b"}, {"tool": b"newer"}
    new = ensure(job, tmp_path, Steps())
    assert (old.path("tool").read_bytes(), new.path("tool").read_bytes()) == (b"content", b"newer")


def test_the_order_of_inputs_is_no_reason_to_build_again(tmp_path: Path) -> None:
    job = FakeJob(key={"a": 1, "b": 2})
    ensure(job, tmp_path, Steps())
    job.key = {"b": 2, "a": 1}
    ensure(job, tmp_path, Steps())
    assert job.made == 1


@pytest.mark.parametrize("damaged", [b"", b"cont", b"CONTENT", b"content and more"])
def test_a_damaged_file_is_never_used(tmp_path: Path, damaged: bytes) -> None:
    job = FakeJob()
    entry = ensure(job, tmp_path, Steps())
    path = entry.path("tool")
    path.write_bytes(damaged)
    os.utime(path, ns=(0, 0))
    assert ensure(job, tmp_path, Steps()).path("tool").read_bytes() == b"content"
    assert job.made == 2


def test_a_missing_file_is_built_again(tmp_path: Path) -> None:
    job = FakeJob(files={"bin/one": b"1", "bin/two": b"2"})
    ensure(job, tmp_path, Steps()).path("bin/two").unlink()
    assert ensure(job, tmp_path, Steps()).path("bin/two").read_bytes() == b"2"


def test_a_damaged_record_is_built_again(tmp_path: Path) -> None:
    job = FakeJob()
    ensure(job, tmp_path, Steps()).path(".record.json").write_bytes(b'{"files": {')
    ensure(job, tmp_path, Steps())
    assert job.made == 2


def test_a_copied_cache_is_as_good_as_the_one_it_was_copied_from(tmp_path: Path) -> None:
    job = FakeJob()
    ensure(job, tmp_path / "old", Steps())
    shutil.copytree(tmp_path / "old", tmp_path / "new", copy_function=shutil.copyfile)
    ensure(job, tmp_path / "new", Steps())
    assert job.made == 1


def test_a_failed_build_leaves_nothing_that_looks_finished(tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("no space left")

    job = FakeJob(files={"one": b"1", "two": b"2"}, during=fail)
    with pytest.raises(RuntimeError):
        ensure(job, tmp_path, Steps())
    job.during = lambda: None
    entry = ensure(job, tmp_path, Steps())
    assert {name: entry.path(name).read_bytes() for name in entry.files} == {"one": b"1", "two": b"2"}


def test_what_a_killed_builder_left_is_not_mixed_in(tmp_path: Path) -> None:
    job = FakeJob()
    entry = ensure(job, tmp_path, Steps())
    draft = tmp_path / f".making-{entry.folder.name}"
    entry.folder.rename(draft)  # as it lies there when the power goes right before the rename
    (draft / "half").write_bytes(b"written")
    assert ensure(job, tmp_path, Steps()).files.keys() == {"tool"}
    assert not draft.exists()


def test_of_two_builders_one_builds_and_the_other_says_that_it_waits(tmp_path: Path) -> None:
    building, waiting = threading.Event(), threading.Event()

    def build() -> None:
        building.set()
        assert waiting.wait(30)

    first = FakeJob(during=build)
    second = FakeJob()
    steps = Steps(on_step=lambda _title: waiting.set())
    with ThreadPoolExecutor() as pool:
        result = pool.submit(ensure, first, tmp_path, Steps())
        assert building.wait(30)
        entry = ensure(second, tmp_path, steps)
        assert result.result(30) == entry
    assert (first.made, second.made) == (1, 0)
    assert steps.titles == ["wait for another process: build tool 1"]
