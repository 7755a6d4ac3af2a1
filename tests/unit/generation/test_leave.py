"""A machine that leaves is as it was before, whatever happened to it or to what is kept about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flexnode.errors import FlexError, HostError, StateError
from flexnode.generation import Desired, Generation, Outcome, Result, needs_recovery
from flexnode.generation.durable import seal
from unit.generation.samples import CERTIFICATE, Lab, make_host, make_node, sha256

FIRST = make_node()
NEXT = make_node(kubelet="1.35.0", containerd_config="version = 3\nnext = true\n")
ORIGINAL = make_host().snapshot(times=True)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "state")


@pytest.fixture
def node(lab: Lab) -> Lab:
    assert lab.activation.activate(FIRST).result is Result.CONFIRMED
    return lab


def leave(lab: Lab, *, forgiving: bool = False) -> Outcome:
    return lab.activation.activate(Generation(), operation="unbootstrap", forgiving=forgiving)


def test_undo_leaves_the_machine_exactly_as_it_was(node: Lab) -> None:
    """Bytes, modes, owners, attributes and times of every file; units, packages, swap, kernel."""
    outcome = leave(node)
    assert outcome.result is Result.LEFT
    assert outcome.reservations == outcome.kept == outcome.warnings == ()
    assert node.host.snapshot(times=True) == ORIGINAL


def test_undo_works_across_upgrades(node: Lab) -> None:
    node.activation.activate(NEXT)
    assert leave(node).result is Result.LEFT
    assert node.host.snapshot(times=True) == ORIGINAL


def test_nothing_but_the_word_that_it_left_is_kept(node: Lab) -> None:
    leave(node)
    files = {str(path.relative_to(node.folder)) for path in node.folder.rglob("*") if path.is_file()}
    assert files == {"state.json", "state.json.previous", "lock"}
    assert node.memory()["desired"] is Desired.LEFT
    assert not needs_recovery(node.folder)


def test_the_node_is_deleted_while_there_are_credentials_and_after_its_pods_are_stopped(node: Lab) -> None:
    node.host.writes.clear()
    leave(node)
    assert node.left_nodes == ["node-1"]
    writes = node.host.writes
    assert writes.index("stop pod web") < writes.index("stop kubelet.service")
    assert writes.index("stop kubelet.service") < writes.index(f"remove {CERTIFICATE}")


def test_that_the_user_wants_it_to_leave_is_known_before_anything_is_done(node: Lab) -> None:
    """The agent must not join it again after a power cut."""

    def refuse(_moment: str) -> None:
        raise HostError("no", code="host/io-error")

    node.host.hook = refuse
    with pytest.raises(HostError):
        leave(node)
    assert node.memory()["desired"] is Desired.LEFT


def test_a_failed_leaving_is_gone_on_with(node: Lab) -> None:
    node.host.packages.locked = True
    with pytest.raises(FlexError) as caught:
        leave(node)
    assert (caught.value.code, caught.value.transient) == ("package/locked", True)
    node.host.packages.locked = False
    outcome = leave(node)
    assert outcome.result is Result.LEFT
    assert node.left_nodes == ["node-1"]
    assert node.host.snapshot(times=True) == ORIGINAL


def test_forgiving_leaving_goes_on_and_says_what_was_left_behind(node: Lab) -> None:
    node.host.packages.locked = True
    outcome = leave(node, forgiving=True)
    assert outcome.result is Result.DEGRADED
    assert any("lock" in each for each in outcome.reservations)
    assert node.host.files.find("/etc/containerd/config.toml") is None
    assert node.host.kernel.snapshot()["swap"] == ["/dev/sda2"]
    node.host.packages.locked = False
    recovered = node.activation.recover()
    assert recovered is not None
    assert recovered.result is Result.LEFT
    assert node.host.snapshot(times=True) == ORIGINAL


def test_a_machine_that_never_joined_has_nothing_to_leave(lab: Lab) -> None:
    assert leave(lab).result is Result.UNCHANGED
    assert lab.host.writes == []
    assert lab.memory()["desired"] is Desired.LEFT


def test_leaving_twice_changes_nothing(node: Lab) -> None:
    leave(node)
    node.host.writes.clear()
    assert leave(node).result is Result.UNCHANGED
    assert node.host.writes == []


def test_a_half_way_bootstrap_can_be_left(lab: Lab) -> None:
    lab.verify.failing.add(FIRST.kubernetes)
    assert lab.activation.activate(FIRST).result is Result.UNCONFIRMED
    assert leave(lab).result is Result.LEFT
    assert lab.host.snapshot(times=True) == ORIGINAL


def test_a_machine_that_left_can_join_and_leave_again(node: Lab) -> None:
    leave(node)
    assert node.activation.activate(NEXT).result is Result.CONFIRMED
    assert node.memory()["desired"] is Desired.JOINED
    assert leave(node).result is Result.LEFT
    assert node.host.snapshot(times=True) == ORIGINAL


# Files that the user edited.


def edit(lab: Lab) -> None:
    lab.host.files.place("/etc/crictl.yaml", "debug: false\n", mode=0o600)
    lab.host.files.place("/etc/containerd/config.toml", "version = 3\nmine = true\n")


def test_an_edited_file_stays_with_the_original_beside_it(node: Lab) -> None:
    edit(node)
    outcome = leave(node)
    assert outcome.result is Result.LEFT
    assert set(outcome.kept) == {"/etc/crictl.yaml", "/etc/containerd/config.toml"}
    files = node.host.snapshot(times=True)["files"]
    assert files["/etc/crictl.yaml"]["data"] == b"debug: false\n"
    before = ORIGINAL["files"]["/etc/crictl.yaml"]
    assert files["/etc/crictl.yaml.before-flexnode"] == before
    # There was nothing before the other one, and its directory stays for it.
    assert files["/etc/containerd/config.toml"]["data"].endswith(b"mine = true\n")
    new = {path for path in files if path not in ORIGINAL["files"]}
    assert new == {"/etc/containerd", "/etc/containerd/config.toml", "/etc/crictl.yaml.before-flexnode"}


def test_an_original_of_an_earlier_time_is_not_overwritten(node: Lab) -> None:
    node.host.files.place("/etc/crictl.yaml.before-flexnode", "from another life\n")
    edit(node)
    leave(node)
    files = node.host.snapshot(times=True)["files"]
    assert files["/etc/crictl.yaml.before-flexnode"]["data"] == b"from another life\n"
    assert files["/etc/crictl.yaml.before-flexnode.1"] == ORIGINAL["files"]["/etc/crictl.yaml"]


def test_a_file_that_the_user_put_back_by_hand_is_no_edit(node: Lab) -> None:
    node.host.files.place("/etc/crictl.yaml", "debug: true\n", mode=0o640)
    outcome = leave(node)
    assert outcome.kept == ()
    assert node.host.snapshot(times=True) == ORIGINAL


def test_a_file_that_the_user_removed_comes_back_as_it_was(node: Lab) -> None:
    del node.host.files.nodes["/etc/crictl.yaml"]
    assert leave(node).kept == ()
    assert node.host.snapshot(times=True) == ORIGINAL


def test_a_directory_in_the_place_of_a_file_stays(node: Lab) -> None:
    del node.host.files.nodes["/etc/crictl.yaml"]
    node.host.files.place("/etc/crictl.yaml/mine", "x")
    outcome = leave(node)
    assert outcome.result is Result.LEFT
    assert outcome.kept == ("/etc/crictl.yaml",)


def test_a_credential_never_stays_because_it_looks_edited(lab: Lab) -> None:
    """The token changed, or is not in the configuration any more: nobody can tell what was written."""
    lab.verify.failing.add(FIRST.kubernetes)
    lab.host.units.when_started["kubelet.service"] = lambda: None
    lab.activation.activate(FIRST)
    assert lab.host.files.find("/etc/kubernetes/bootstrap-kubelet.conf") is not None
    lab.secrets.clear()
    lab.host.files.place(CERTIFICATE, "certificate")
    outcome = leave(lab)
    assert outcome.kept == ()
    assert lab.host.snapshot(times=True) == ORIGINAL


def test_a_directory_with_the_user_s_files_in_it_stays_with_them(node: Lab) -> None:
    node.host.files.place("/etc/containerd/certs.d/mine", "x")
    assert leave(node).result is Result.LEFT
    assert node.host.files.find("/etc/containerd/certs.d/mine") is not None


# What is kept about the machine was damaged.


def damage(*names: str) -> Callable[[Lab], None]:
    def spoil(lab: Lab) -> None:
        for pattern in names:
            found = list(lab.folder.glob(pattern))
            assert found
            for path in found:
                path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return spoil


def lose(*names: str) -> Callable[[Lab], None]:
    def remove(lab: Lab) -> None:
        for name in names:
            (lab.folder / name).unlink()

    return remove


@pytest.mark.parametrize(
    "spoil",
    [
        damage("state.json"),
        damage("state.json", "state.json.previous"),
        lose("state.json", "state.json.previous"),
        damage("generations/*.json"),
        damage("store/members/index/*.json"),
        damage("store/sha256/*"),
    ],
    ids=["state", "state-and-its-copy", "state-gone", "generations", "members", "store"],
)
def test_no_damage_keeps_a_machine_from_leaving(node: Lab, spoil: Callable[[Lab], None]) -> None:
    """Row 29: a corrupt state file of other products blocks reset."""
    spoil(node)
    outcome = leave(node)
    assert outcome.result is Result.LEFT
    assert outcome.kept == ()
    assert node.host.snapshot(times=True) == ORIGINAL


def test_without_any_description_left_what_runs_is_stopped_and_the_rest_is_named(node: Lab) -> None:
    damage("generations/*")(node)
    outcome = leave(node)
    assert outcome.result is Result.LEFT
    after = node.host.snapshot(times=True)
    assert after["units"] == ORIGINAL["units"]
    assert after["packages"] == ORIGINAL["packages"]
    assert after["kernel"] == ORIGINAL["kernel"]
    assert "/etc/systemd/system/kubelet.service" in outcome.kept
    assert after["files"]["/etc/crictl.yaml.before-flexnode"] == ORIGINAL["files"]["/etc/crictl.yaml"]
    assert any("is damaged" in each for each in outcome.warnings)


def test_damage_is_told(node: Lab) -> None:
    damage("state.json")(node)
    assert any("state.json is damaged" in each for each in leave(node).warnings)


def test_a_lost_ledger_entry_costs_that_original_and_no_more(node: Lab) -> None:
    """What the product put there goes; what was before is still among the kept bytes, without its name."""
    name = sha256(b"file:/etc/crictl.yaml")[:32]
    damage(f"ledger/{name}.json")(node)
    outcome = leave(node)
    assert outcome.result is Result.LEFT
    assert any("/etc/crictl.yaml" in each for each in outcome.reservations)
    after = node.host.snapshot(times=True)
    assert "/etc/crictl.yaml" not in after["files"]
    after["files"]["/etc/crictl.yaml"] = ORIGINAL["files"]["/etc/crictl.yaml"]
    assert after["files"] == ORIGINAL["files"]
    assert sha256(b"debug: true\n") in node.contents.blobs.digests()


def test_a_damaged_journal_keeps_nobody_from_leaving(lab: Lab) -> None:
    lab.verify.failing.add(FIRST.kubernetes)
    lab.activation.activate(FIRST)
    lines = lab.directory.journal.read_bytes().splitlines(keepends=True)
    lab.directory.journal.write_bytes(b"".join(b"x" + line for line in lines))
    with pytest.raises(FlexError) as caught:
        lab.activation.recover()
    assert caught.value.code == "generation/lost"
    assert leave(lab).result is Result.LEFT
    assert lab.host.snapshot(times=True) == ORIGINAL


def test_a_newer_version_s_state_is_not_touched(node: Lab) -> None:
    """Row 30."""
    node.directory.state.write_bytes(seal({"current": "x"}, schema=9))
    memory = {path: path.read_bytes() for path in node.folder.rglob("*") if path.is_file()}
    before = node.host.snapshot(times=True)
    for act in (
        lambda: leave(node),
        lambda: node.activation.activate(NEXT),
        lambda: node.activation.plan(NEXT),
    ):
        with pytest.raises(StateError) as caught:
            act()
        assert caught.value.code == "state/newer-version"
    assert node.host.snapshot(times=True) == before
    lock = node.directory.lock
    assert {**memory, lock: b""} == {
        **{path: path.read_bytes() for path in node.folder.rglob("*") if path.is_file()},
        lock: b"",
    }
