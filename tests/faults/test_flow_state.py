"""The fault matrix, rows 28 to 30, for whole flows: another operation, damaged records, newer records.

Every class of record is damaged, alone and with its copies. Whatever is lost, a node stays a node, and a
machine that leaves either is as it was before, or its user is told what nobody can promise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from faults.scene import TERMINAL, TRANSIENT, Scene, open_scene
from flexnode.agent.assess import Phase
from flexnode.components.layout import KUBELET
from flexnode.generation.durable import SCHEMA, checksum
from unit.flows.samples import NODE_PATH

RESERVATION = 3

HOLDER = """
import fcntl, os, sys
handle = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(handle, fcntl.LOCK_EX)
os.pwrite(handle, sys.argv[2].encode(), 0)
print("held", flush=True)
sys.stdin.read()
"""


def words_of_a_lock(**changes: object) -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    words = {"pid": 1, "boot": boot, "operation": "upgrade", "since": "2026-01-01T00:00:00Z", **changes}
    return json.dumps(words)


@contextmanager
def another_operation(scene: Scene) -> Iterator[None]:
    """A process that holds the lock, as an operation on this machine does."""
    argv = (sys.executable, "-c", HOLDER, str(scene.world.directory.lock), words_of_a_lock())
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
        process.communicate()


def test_who_meets_another_operation_says_so_at_once_and_touches_nothing() -> None:
    """Row 28, a live lock: exit 75, also for a one-shot bootstrap that waits for other things."""
    with open_scene() as scene:
        scene.join()
        scene.configure(kubelet={"maxPods": 42})
        scene.world.host.writes.clear()
        with another_operation(scene):
            for words in (("bootstrap",), ("unbootstrap", "--yes"), ("rollback",)):
                begin = scene.world.clock.monotonic()
                ended = scene.type(*words)
                assert (ended.status, ended.code) == (TRANSIENT, "state/busy"), words
                assert "upgrade" in ended.failure["message"]
                assert scene.world.clock.monotonic() - begin < 1
            scene.live(120)
            assert scene.world.host.writes == []
        assert scene.live(120).failure is None
        assert any(KUBELET in each for each in scene.world.host.writes)


@pytest.mark.parametrize(
    "left_over",
    [
        words_of_a_lock(pid=os.getpid(), boot="an earlier one"),
        words_of_a_lock(pid=1),
        words_of_a_lock(pid=os.getpid()),
        "",
        "no JSON",
    ],
    ids=["earlier-boot", "reused-pid", "own-pid", "empty", "garbage"],
)
def test_a_lock_that_was_left_over_holds_nobody_up(left_over: str) -> None:
    """Row 28, a stale lock: its file lies there, with the number of a process that lives."""
    with open_scene() as scene:
        scene.world.directory.prepare()
        scene.world.directory.lock.write_text(left_over)
        scene.join()
        scene.world.directory.lock.write_text(left_over)
        assert scene.live(60).healthy
        assert scene.type("unbootstrap", "--yes").status == 0


def empty(data: bytes) -> bytes:
    return b""


def halve(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


DAMAGE = [empty, halve, flip]


def damage(scene: Scene, pattern: str, how: Callable[[bytes], bytes], *, only: int | None = None) -> None:
    paths = sorted(scene.world.directory.root.glob(pattern))[:only]
    assert paths, f"there is no {pattern}"
    for path in paths:
        path.write_bytes(how(path.read_bytes()))


RECORDS = ["state.json", "state.json*", "generations/*.json", "cluster.json", "agent.json", "provision.json"]
"""What has a copy, or can be observed again."""


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("pattern", RECORDS)
def test_a_damaged_record_changes_neither_the_node_nor_its_leave(
    pattern: str, how: Callable[[bytes], bytes]
) -> None:
    with open_scene() as scene:
        before = scene.world.host.snapshot()
        scene.join()
        scene.live(5)
        joined = scene.world.host.snapshot()
        scene.world.host.writes.clear()
        damage(scene, pattern, how)
        scene.boot()
        assert scene.live(120).healthy
        assert scene.type("bootstrap").status == 0
        assert scene.world.host.writes == [], "the node was changed for a record about it"
        assert scene.world.host.snapshot() == joined
        damage(scene, pattern, how)
        ended = scene.type("unbootstrap", "--yes")
        assert ended.status == 0, ended.err
        assert scene.world.host.snapshot() == before


@pytest.mark.parametrize("how", DAMAGE)
def test_a_lost_original_is_told_and_everything_else_is_put_back(how: Callable[[bytes], bytes]) -> None:
    with open_scene() as scene:
        scene.join()
        damage(scene, "ledger/*", how)
        ended = scene.type("unbootstrap", "--yes")
        assert ended.status == RESERVATION
        assert ended.data["result"] == "left"
        assert any("/etc/containerd/config.toml" in each for each in ended.data["reservations"])
        assert not scene.world.host.units.is_active(KUBELET)
        assert scene.world.host.files.find("/etc/kubernetes") is None
        assert scene.world.cluster.get(NODE_PATH) is None


@pytest.mark.parametrize("how", DAMAGE)
def test_a_journal_that_was_lost_leaves_nothing_behind(how: Callable[[bytes], bytes]) -> None:
    """Of a first join that is not confirmed, nothing else tells what it put there."""
    with open_scene() as scene:
        before = scene.world.host.snapshot()
        scene.world.approves = False
        assert scene.type("bootstrap", "--timeout", "1m").status == TRANSIENT
        damage(scene, "journal", how)
        assert scene.type("unbootstrap", "--yes").status == 0
        assert scene.world.host.snapshot() == before


@pytest.mark.parametrize("how", DAMAGE)
def test_a_machine_of_which_nothing_is_known_is_not_said_to_have_left(how: Callable[[bytes], bytes]) -> None:
    """The records are made anew from the machine itself, and then it can leave."""
    with open_scene() as scene:
        scene.join()
        damage(scene, "generations/*", how)
        damage(scene, "ledger/*", how)
        ended = scene.type("unbootstrap", "--yes")
        assert (ended.status, ended.data["result"]) == (RESERVATION, "degraded")
        assert "bootstrap" in str(ended.data["reservations"])
        assert scene.type("bootstrap").status == 0
        assert scene.type("unbootstrap", "--yes").data["result"] == "left"
        assert not scene.world.host.units.is_active(KUBELET)
        assert scene.world.host.files.find("/etc/kubernetes") is None


class Envelope(msgspec.Struct):
    """A record as it lies on disk."""

    schema: int
    sha256: str
    payload: msgspec.Raw


def from_the_future(data: bytes) -> bytes:
    raw = bytes(msgspec.json.decode(data, type=Envelope).payload)
    future = SCHEMA + 1
    return msgspec.json.encode(
        Envelope(schema=future, sha256=checksum(future, raw), payload=msgspec.Raw(raw))
    )


@pytest.mark.parametrize("pattern", ["state.json", "generations/*.json", "ledger/*"])
def test_what_a_newer_version_wrote_is_refused_and_left_as_it_is(pattern: str) -> None:
    """Row 30, for every verb and for the daemon."""
    with open_scene() as scene:
        scene.join()
        damage(scene, pattern, from_the_future)
        scene.configure(kubelet={"maxPods": 42})
        scene.world.host.writes.clear()
        before = records(scene)
        for words in (("bootstrap",), ("unbootstrap", "--yes"), ("unbootstrap", "--yes", "--force")):
            ended = scene.type(*words)
            assert (ended.status, ended.code, ended.kind) == (TERMINAL, "state/newer-version", "terminal"), (
                words
            )
            assert "install that version" in ended.failure["hint"]
        status = scene.live(120)
        assert status.phase == Phase.RESTING
        assert status.failure is not None
        assert status.failure.code == "state/newer-version"
        assert scene.world.host.writes == []
        assert records(scene) == before


def records(scene: Scene) -> dict[str, bytes]:
    """What decides about the machine: not how things went, nor what the agent remembers."""
    root = scene.world.directory.root
    patterns = ("state.json*", "generations/*", "ledger/*", "journal")
    return {str(path): path.read_bytes() for pattern in patterns for path in sorted(root.glob(pattern))}
