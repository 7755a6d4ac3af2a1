"""A machine's own node is not held against it, and a damaged memory of it stops no check."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flexnode.clock import FakeClock
from flexnode.components.layout import KUBELET_CERTIFICATE
from flexnode.errors import StateError
from flexnode.flows.preflight import Level, Ours
from flexnode.flows.preflight.own import load_ours
from flexnode.generation.directory import StateDirectory
from flexnode.generation.durable import SCHEMA, seal
from flexnode.generation.generation import Generation, compose
from flexnode.generation.ledger import DiskLedger
from flexnode.generation.lock import hold
from flexnode.generation.node_state import Desired, NodeState
from flexnode.resources import Phase, Resource
from flexnode.resources.state import Absent, Directory, Owned
from unit.flows.preflight.samples import Case, findings, situation, stock

BAKED = Resource(key="directory:/etc/containerd", want=Directory())
JOINED = Resource(
    key="owned:kubelet-state", want=Owned(trees=("/var/lib/kubelet",)), phase=Phase.JOINED, after=(BAKED.key,)
)


def node(root: Path, *resources: Resource, desired: Desired = Desired.JOINED) -> StateDirectory:
    directory = StateDirectory(root=root)
    directory.prepare()
    generation = compose(resources)
    directory.save_generation(generation, generation.id)
    directory.save_state(NodeState(current=generation.id, desired=desired))
    return directory


def test_a_machine_that_was_never_touched(tmp_path: Path) -> None:
    assert load_ours(StateDirectory(root=tmp_path / "none"), stock()) == Ours()


def test_a_joined_node(tmp_path: Path) -> None:
    ours = load_ours(node(tmp_path, BAKED, JOINED), stock())
    assert ours.joined
    assert ours.generation == compose([BAKED, JOINED]).id
    assert ours.has_path("/etc/containerd")
    assert ours.has_path("/var/lib/kubelet/pods")
    assert not ours.has_path("/var/lib/kubelet-of-somebody")
    assert not ours.has_path("/etc/kubernetes")


def test_a_baked_image_has_not_joined(tmp_path: Path) -> None:
    ours = load_ours(node(tmp_path, BAKED), stock())
    assert not ours.joined
    assert ours.has("directory:/etc/containerd")


def test_a_node_that_was_told_to_leave_has_not_joined(tmp_path: Path) -> None:
    assert not load_ours(node(tmp_path, BAKED, JOINED, desired=Desired.LEFT), stock()).joined


def test_a_first_bootstrap_that_was_interrupted_is_known_by_its_ledger(tmp_path: Path) -> None:
    """Running it again would otherwise stumble over what it left."""
    directory = StateDirectory(root=tmp_path)
    directory.prepare()
    DiskLedger(directory.ledger).record("file:/etc/kubernetes/pki/ca.crt", Absent())
    ours = load_ours(directory, stock())
    assert not ours.joined
    assert ours.has_path("/etc/kubernetes")


def test_a_join_that_is_not_confirmed_yet_counts_what_it_was_about_to_put_there(tmp_path: Path) -> None:
    directory = StateDirectory(root=tmp_path)
    directory.prepare()
    target = compose([BAKED, JOINED])
    directory.save_generation(target, target.id)
    assert not load_ours(directory, stock()).keys, "it was only staged"
    DiskLedger(directory.ledger).record(BAKED.key, Absent())
    ours = load_ours(directory, stock())
    assert not ours.joined
    assert ours.has_path("/var/lib/kubelet/pods")


@pytest.mark.parametrize("theirs", [False, True])
def test_a_certificate_of_another_kubelet_is_not_used(tmp_path: Path, theirs: bool) -> None:
    """The node would otherwise speak to its cluster as somebody else."""
    host = stock()
    host.files.place(KUBELET_CERTIFICATE, "PEM")
    directory = StateDirectory(root=tmp_path)
    directory.prepare()
    if not theirs:
        DiskLedger(directory.ledger).record("unit:kubelet.service", Absent())
    assert load_ours(directory, host).certificate is not theirs


def test_a_damaged_state_is_told_and_stops_nothing(tmp_path: Path) -> None:
    directory = node(tmp_path, BAKED)
    directory.save_state(NodeState(current=compose([BAKED]).id, desired=Desired.JOINED))
    directory.state.write_bytes(b'{"half')
    ours = load_ours(directory, stock())
    assert ours.has("directory:/etc/containerd"), "the previous copy was not used"
    (finding,) = findings("state", situation(ours=ours))
    assert (finding.level, finding.code) == (Level.WARNING, "state/damaged")
    assert "state.json" in finding.message


def test_a_damaged_entry_of_the_ledger_is_told(tmp_path: Path) -> None:
    """What the user's machine had there cannot be put back, and that is better known beforehand."""
    directory = node(tmp_path, BAKED)
    DiskLedger(directory.ledger).record("file:/etc/hosts", Absent())
    (entry,) = directory.ledger.iterdir()
    entry.write_bytes(b"{")
    assert "damaged" in load_ours(directory, stock()).warning


def test_the_state_of_a_newer_version_is_an_error_of_its_own(tmp_path: Path) -> None:
    directory = StateDirectory(root=tmp_path)
    directory.prepare()
    directory.state.write_bytes(seal(NodeState(), schema=SCHEMA + 1))
    (finding,) = findings("state", situation(ours=load_ours(directory, stock())))
    assert (finding.level, finding.code) == (Level.ERROR, "state/newer-version")
    assert finding.hint


CASES = [
    Case(
        about="changing just now",
        check="state",
        level=Level.ERROR,
        code="state/busy",
        says="upgrade, process 99",
        hint="wait",
        transient=True,
        changes={"ours": Ours(joined=True, busy="upgrade, process 99, since 10:00:00 UTC")},
    ),
    Case(
        about="joined",
        check="state",
        level=Level.OK,
        says="abc",
        changes={"ours": Ours(joined=True, generation="abc")},
    ),
    Case(
        about="baked",
        check="state",
        level=Level.OK,
        says="prepared",
        changes={"ours": Ours(generation="abc")},
    ),
    Case(
        about="of another user",
        check="state",
        level=Level.ERROR,
        code="state/unreadable",
        hint="root",
        changes={"ours": Ours(failure=StateError("may not be read", code="state/unreadable"))},
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_state(case: Case) -> None:
    case.hold()


def test_an_operation_is_not_told_of_itself(tmp_path: Path) -> None:
    """A bootstrap that checks the machine first would otherwise wait for its own end."""
    directory = node(tmp_path, BAKED)
    with hold(directory.lock, "bootstrap", clock=FakeClock()):
        assert load_ours(directory, stock()).busy == ""


def test_an_operation_of_another_process_is_told(tmp_path: Path) -> None:
    directory = node(tmp_path, BAKED)
    with hold(directory.lock, "upgrade", clock=FakeClock()):
        words = directory.lock.read_text().replace(f'"pid":{os.getpid()}', '"pid":4194305')
        directory.lock.write_text(words)
        assert load_ours(directory, stock()).busy == "upgrade, process 4194305, since 00:00:00 UTC"


def test_an_empty_generation_owns_nothing() -> None:
    assert Ours(generation=Generation().id).has_path("/etc") is False
