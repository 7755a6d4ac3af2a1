"""What one process found out about files spares the next one reading them, and is never more than that."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from flexnode.artifacts import Store
from flexnode.clock import FakeClock
from flexnode.digests import Digests, Known
from flexnode.errors import ArtifactError
from flexnode.generation import Activation, Generation, Result, StateDirectory, StoredContents, compose
from flexnode.generation.digest_memory import keep_digests, recall_digests
from flexnode.generation.durable import seal
from flexnode.generation.stage import stage
from flexnode.host import RootfsHost
from unit.generation.samples import Lab, make_node, sha256

LATER = FakeClock(datetime.now(UTC) + timedelta(hours=1))
NODE = make_node()


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    directory = StateDirectory(root=tmp_path / "state")
    directory.prepare()
    return directory


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    return path


def recall(directory: StateDirectory) -> Digests:
    return recall_digests(directory, LATER)


def claim(path: Path, digest: str) -> dict[str, Known]:
    """A memory of `path` as it lies there, with this digest."""
    found = path.stat()
    return {
        str(path): Known(
            device=found.st_dev,
            inode=found.st_ino,
            size=found.st_size,
            mtime_ns=found.st_mtime_ns,
            ctime_ns=found.st_ctime_ns,
            sha256=digest,
        )
    }


def look(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def test_the_next_process_knows_what_this_one_found_out(directory: StateDirectory, file: Path) -> None:
    digests = recall(directory)
    digests.of_file(file)
    keep_digests(directory, digests)
    assert directory.digests.stat().st_mode & 0o7777 == 0o600
    again = recall(directory)
    assert again.of_file(file) == sha256(b"one")
    assert not again.new


def test_nothing_new_writes_nothing(directory: StateDirectory, file: Path) -> None:
    keep_digests(directory, recall(directory))
    assert not directory.digests.exists()
    digests = recall(directory)
    digests.of_file(file)
    keep_digests(directory, digests)
    written = look(directory.digests)
    again = recall(directory)
    again.of_file(file)
    keep_digests(directory, again)
    keep_digests(directory, digests)
    assert look(directory.digests) == written


ENTRY = {"/a": [1, 2, 3, 4, 5, "6"]}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff{",
        seal({"version": 1, "files": ENTRY})[:-9],
        seal({"version": 1, "files": ENTRY}).replace(b'"6"', b'"7"'),
        seal({"version": 2, "files": ENTRY}),
        seal({"version": 1, "files": {"/a": [1, 2]}}),
        seal({"version": 1, "files": ENTRY, "more": 1}),
        seal({"version": 1, "files": ENTRY}, schema=99),
    ],
    ids=["empty", "no-json", "cut", "flipped", "version", "shape", "field", "newer"],
)
def test_a_damaged_memory_is_none(directory: StateDirectory, file: Path, data: bytes) -> None:
    directory.digests.write_bytes(data)
    digests = recall(directory)
    assert digests.of_file(file) == sha256(b"one")
    keep_digests(directory, digests)
    assert recall(directory).of_file(file) == sha256(b"one")


def test_a_sound_memory_of_that_shape_is_one(directory: StateDirectory, file: Path) -> None:
    """Or the test above would show nothing."""
    known = msgspec.to_builtins(claim(file, "6"))
    directory.digests.write_bytes(seal({"version": 1, "files": known}))
    assert recall(directory).of_file(file) == "6"


def test_what_can_neither_be_read_nor_written_costs_only_the_memory(
    directory: StateDirectory, file: Path
) -> None:
    directory.digests.symlink_to(directory.digests)  # not even root reads that
    digests = recall(directory)
    assert digests.of_file(file) == sha256(b"one")
    keep_digests(StateDirectory(root=directory.root / "none"), digests)
    assert sorted(path.name for path in directory.root.iterdir()) == ["digests.json"]


class Machine(Lab):
    """A lab whose files have been left alone for long, and what they hold is remembered between processes."""

    @property
    def contents(self) -> StoredContents:
        secrets = super().contents._secrets
        return StoredContents(self.directory, secrets=secrets, digests=recall(self.directory))


@pytest.fixture
def lab(tmp_path: Path) -> Machine:
    return Machine(folder=tmp_path / "state")


def test_an_operation_remembers_and_a_plan_does_not(lab: Machine) -> None:
    lab.activation.activate(NODE)
    lab.directory.digests.unlink()
    lab.activation.plan(NODE)
    lab.activation.plan(make_node(kubelet="1.35.0"))
    assert not lab.directory.digests.exists()
    lab.activation.activate(make_node(kubelet="1.35.0"))
    assert recall(lab.directory).take_stock()


def test_after_an_operation_the_next_process_reads_nothing(tmp_path: Path) -> None:
    """What was put there was too young to be remembered when it was read, and is hundreds of megabytes."""
    root = tmp_path / "root"
    lab = Lab(folder=tmp_path / "state")
    files = [
        msgspec.structs.replace(each, after=())
        for each in NODE.resources
        if each.kind == "file" and not each.until
    ]
    node = compose(files, needs=NODE.needs)
    for each in files:
        (root / each.name[1:]).parent.mkdir(parents=True, exist_ok=True)
    young = FakeClock(datetime.now(UTC))
    reads: list[str] = []

    class Reading(Digests):
        def _read(self, path: str, file: int) -> str:
            reads.append(path)
            return super()._read(path, file)

    def process(clock: FakeClock) -> Activation:
        known = recall_digests(lab.directory, clock)._known
        digests = Reading(clock=clock, known=known)
        host = RootfsHost(root)
        host.files.digests = digests
        contents = StoredContents(lab.directory, secrets=lab.contents._secrets, digests=digests)

        def grow_old(_target: Generation, _deadline: object) -> None:
            clock.sleep(3600)

        return replace(lab.activation, host=host, contents=contents, verify=grow_old)

    assert process(young).activate(node).failure is None
    assert {path for path in reads if path.startswith(str(root))}
    reads.clear()
    assert process(LATER).plan(node).changes == ()
    assert process(LATER).activate(node).result is Result.UNCHANGED
    process(LATER).stage(node)
    assert reads == []


def test_a_second_run_leaves_the_memory_as_it_is(lab: Machine) -> None:
    lab.activation.activate(NODE)
    lab.activation.activate(NODE)
    written = look(lab.directory.digests)
    lab.activation.activate(NODE)
    assert look(lab.directory.digests) == written


def test_the_memory_leaves_with_the_machine(lab: Machine) -> None:
    lab.activation.activate(NODE)
    assert lab.directory.digests.exists()
    lab.activation.activate(Generation(), operation="unbootstrap")
    assert not lab.directory.digests.exists()


def test_what_is_used_is_read_whatever_is_remembered(tmp_path: Path, directory: StateDirectory) -> None:
    """A store that rotted since: nobody installs from it."""
    path = tmp_path / "store" / "sha256" / sha256(b"sound")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"rotten")
    store = Store(tmp_path / "store", digests=Digests(clock=LATER, known=claim(path, sha256(b"sound"))))
    assert store.holds(sha256(b"sound"))
    with pytest.raises(ArtifactError, match="was damaged") as caught:
        store.require(sha256(b"sound"))
    assert caught.value.code == "artifact/not-staged"
    assert not store.holds(sha256(b"sound"))


def test_an_archive_that_rotted_is_fetched_again_before_it_is_opened(lab: Machine) -> None:
    lab.activation.stage(NODE)
    first = list(lab.fetched)
    store = lab.contents.store
    archive = next(need for need in NODE.needs if need.name.startswith("containerd"))
    path = store.path(archive.sha256)
    path.chmod(0o644)
    path.write_bytes(b"rotten")
    digests = Digests(clock=LATER, known=claim(path, archive.sha256))
    contents = StoredContents(lab.directory, digests=digests)
    assert contents.store.holds(archive.sha256)
    for member in lab.directory.members.glob("sha256/*"):
        member.unlink()
    stage(NODE, contents, lab.activation.fetch)
    assert lab.fetched == [*first, archive.name]
