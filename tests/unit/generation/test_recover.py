"""After a crash the machine ends at one generation or the other, by rule and without anybody's help."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flexnode.clock import FakeClock
from flexnode.generation import Desired, Generation, NodeState, Result, StateDirectory, needs_recovery
from flexnode.generation.history import History
from flexnode.generation.journal import (
    NO_LIMIT,
    Changing,
    Confirmed,
    Opened,
    Record,
    Restarted,
    RolledBack,
    Stopped,
    Verified,
)
from flexnode.generation.judge import BOOT_ID
from flexnode.generation.ledger import NoLedger
from flexnode.generation.node_state import Rejection
from flexnode.generation.recover import DAMAGED_SECONDS, MAX_ATTEMPTS, Way, decide, has_ended, next_record
from flexnode.host.door import Enablement
from flexnode.resources import Change
from flexnode.resources.state import Absent
from unit.generation.samples import Crash, Lab, make_node

OLD = make_node()
NEW = make_node(kubelet="1.35.0", containerd_config="version = 3\nnew = true\n")


@pytest.fixture
def remember(tmp_path: Path) -> Callable[..., History]:
    """What a new process finds on disk, with these records and this state."""

    def load(*records: Record, current: Generation | None = OLD, **state: object) -> History:
        directory = StateDirectory(root=tmp_path / "state")
        directory.prepare()
        for each in (OLD, NEW):
            directory.save_generation(each, each.id)
        identity = current.id if current else None
        state = {"current": identity, "desired": Desired.JOINED, **state}
        directory.save_state(NodeState(**state))  # type: ignore[arg-type]
        history = History.load(directory, NoLedger())
        for record in records:
            history.journal.append(record)
        return History.load(directory, NoLedger())

    return load


def opened(generation: Generation = NEW, **rest: object) -> Opened:
    fields: dict[str, object] = {"target": generation.id, "previous": OLD.id, "remaining": 300.0, **rest}
    return Opened(**fields)  # type: ignore[arg-type]


CHANGE = Changing(change=Change(key="file:/a", before=Absent(), after=Absent()))


def test_an_upgrade_that_was_cut_off_is_tried_again(remember: Callable[..., History]) -> None:
    decision = decide(remember(opened(), CHANGE))
    assert (decision.way, decision.opened) == (Way.FORWARD, opened())


def test_it_is_not_tried_for_ever(remember: Callable[..., History]) -> None:
    attempts = [opened(attempt=number) for number in range(1, MAX_ATTEMPTS + 1)]
    assert decide(remember(*attempts[:-1])).way is Way.FORWARD
    decision = decide(remember(*attempts))
    assert (decision.way, decision.reason) == (Way.BACK, "3 attempts were cut off")


def test_an_attempt_that_was_stopped_in_good_order_does_not_count(remember: Callable[..., History]) -> None:
    history = remember(opened(attempt=MAX_ATTEMPTS), CHANGE, Stopped(at=1.0))
    assert decide(history).way is Way.FORWARD
    assert next_record(history, opened(attempt=MAX_ATTEMPTS)).attempt == MAX_ATTEMPTS


def test_the_time_that_an_attempt_used_is_gone(remember: Callable[..., History]) -> None:
    history = remember(opened(), CHANGE, Restarted(unit="a", at=120.0))
    assert next_record(history, opened()).remaining == 180.0
    assert next_record(history, opened()).attempt == 2
    late = remember(opened(), CHANGE, Restarted(unit="a", at=300.0))
    assert decide(late).way is Way.BACK


def test_what_was_verified_is_confirmed_and_not_verified_again(remember: Callable[..., History]) -> None:
    assert decide(remember(opened(attempt=MAX_ATTEMPTS), CHANGE, Verified(at=299.0))).way is Way.CONFIRM


@pytest.mark.parametrize("end", [Confirmed(), RolledBack()])
def test_what_has_ended_is_only_tidied_up(remember: Callable[..., History], end: Record) -> None:
    assert has_ended(remember(opened(), CHANGE, end).journal)


def test_a_way_back_is_gone_on_with_however_often(remember: Callable[..., History]) -> None:
    back = opened(OLD, previous=NEW.id, returns=True, reason="not Ready", attempt=9, remaining=1.0)
    decision = decide(remember(opened(inputs="x"), CHANGE, back, CHANGE))
    assert (decision.way, decision.reason) == (Way.BACK, "not Ready")
    assert decision.opened == opened(inputs="x")


def test_what_was_just_rejected_is_not_tried_again(remember: Callable[..., History]) -> None:
    """The power went between the verdict and the first record of the way back."""
    verdict = Rejection(reason="not Ready", inputs="x", when=FakeClock().now())
    decision = decide(remember(opened(), CHANGE, rejected={NEW.id: verdict}))
    assert (decision.way, decision.reason) == (Way.BACK, "not Ready")


def test_a_first_bootstrap_goes_on_for_as_long_as_it_takes(remember: Callable[..., History]) -> None:
    first = opened(previous=None, attempt=40, remaining=200.0)
    history = remember(
        opened(previous=None, remaining=900.0), first, Restarted(unit="a", at=500.0), current=None
    )
    assert decide(history).way is Way.FORWARD
    assert next_record(history, first).remaining == 900.0


def test_a_repair_has_nowhere_else_to_go(remember: Callable[..., History]) -> None:
    history = remember(opened(OLD, attempt=40), CHANGE)
    assert decide(history).way is Way.FORWARD


def test_a_machine_on_its_way_out_goes_out(remember: Callable[..., History]) -> None:
    """Whatever was being tried before: the user has decided since."""
    decision = decide(remember(opened(attempt=40), desired=Desired.LEFT))
    assert decision.way is Way.FORWARD
    assert decision.opened is not None
    assert (decision.opened.target, decision.opened.remaining) == ("empty", NO_LIMIT)


def test_a_journal_that_had_not_begun_is_closed(remember: Callable[..., History]) -> None:
    history = remember(opened())
    history.journal.path.write_bytes(b'{"schema":1,"sha')
    assert decide(History.load(history.directory, NoLedger())).way is Way.CLOSE


def test_a_journal_that_rotted_leads_to_what_is_current(remember: Callable[..., History]) -> None:
    history = remember(opened())
    history.journal.path.write_bytes(b"rotten\n")
    decision = decide(History.load(history.directory, NoLedger()))
    assert decision.way is Way.FORWARD
    assert decision.opened == Opened(target=OLD.id, previous=OLD.id, remaining=DAMAGED_SECONDS)


# The same on a machine.


@pytest.fixture
def node(tmp_path: Path) -> Lab:
    lab = Lab(tmp_path / "state")
    lab.activation.activate(OLD)
    return lab


def die_at(lab: Lab, moment: str) -> None:
    def watch(seen: str) -> None:
        if seen == moment:
            raise Crash(moment)

    lab.host.hook = watch
    lab.observer = lambda at, name, key: watch(f"{at} {name} {key}")


def live_on(lab: Lab) -> None:
    lab.host.hook = lambda _moment: None
    lab.observer = lambda _moment, _name, _key: None


def crash(lab: Lab, act: Callable[[], object], moment: str) -> None:
    die_at(lab, moment)
    with pytest.raises(Crash):
        act()
    live_on(lab)


def test_nothing_to_recover_is_nothing_to_do(node: Lab) -> None:
    node.host.writes.clear()
    assert not needs_recovery(node.folder)
    assert node.activation.recover() is None
    node.activation.prepare_boot()
    assert node.host.writes == []


def test_three_crashes_in_an_upgrade_lead_back_without_network(node: Lab) -> None:
    before = node.host.snapshot()
    crash(node, lambda: node.activation.activate(NEW), "after write /usr/local/bin/kubelet")
    node.online = False
    for _ in range(MAX_ATTEMPTS - 1):
        assert needs_recovery(node.folder)
        crash(node, lambda: node.activation.recover(), f"begin verify {NEW.id}")
    outcome = node.activation.recover()
    assert outcome is not None
    assert outcome.result is Result.ROLLED_BACK
    assert outcome.failure is not None
    assert outcome.failure.message == "3 attempts were cut off"
    assert node.host.snapshot() == before
    assert node.memory()["rejected"] == [NEW.id]


def test_a_unit_that_died_with_its_restart_owed_is_restarted(node: Lab) -> None:
    crash(node, lambda: node.activation.activate(NEW), "before restart kubelet.service")
    running = node.host.units.find("kubelet.service").invocation
    node.host.writes.clear()
    outcome = node.activation.recover()
    assert outcome is not None
    assert outcome.restarts == ("kubelet.service",)
    assert node.host.writes.count("restart kubelet.service") == 1
    assert "restart containerd.service" not in node.host.writes
    assert node.host.units.find("kubelet.service").invocation != running


def test_units_that_had_their_turn_are_left_alone(node: Lab) -> None:
    crash(node, lambda: node.activation.activate(NEW), f"begin verify {NEW.id}")
    node.host.writes.clear()
    outcome = node.activation.recover()
    assert outcome is not None
    assert (outcome.result, outcome.restarts) == (Result.CONFIRMED, ())
    assert node.host.writes == []


def test_a_damaged_record_of_a_change_restarts_all_that_may_have_missed_it(node: Lab) -> None:
    crash(node, lambda: node.activation.activate(NEW), "before restart containerd.service")
    journal = node.directory.journal
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(line if b'"opened"' in line else b"x" + line for line in lines))
    outcome = node.activation.recover()
    assert outcome is not None
    assert outcome.result is Result.CONFIRMED
    assert {"containerd.service", "kubelet.service"} <= set(outcome.restarts)
    assert any("damaged" in each for each in outcome.warnings)


def test_a_lost_description_of_the_target_leads_back(node: Lab) -> None:
    before = node.host.snapshot()
    crash(node, lambda: node.activation.activate(NEW), "after restart containerd.service")
    for path in node.directory.generations.glob(f"{NEW.id}*"):
        path.write_bytes(b"")
    outcome = node.activation.recover()
    assert outcome is not None
    assert outcome.result is Result.ROLLED_BACK
    assert node.host.snapshot()["units"] == before["units"]
    for path in ("/usr/local/bin/kubelet", "/etc/containerd/config.toml"):
        assert node.host.snapshot()["files"][path] == before["files"][path]


def test_files_that_rotted_in_the_store_are_fetched_again_on_the_way_back(node: Lab) -> None:
    before = node.host.snapshot()
    node.verify.failing.add(NEW.kubernetes)
    crash(node, lambda: node.activation.activate(NEW), f"begin roll-back {OLD.id}")
    for digest in node.contents.store.digests():
        node.contents.store.path(digest).chmod(0o600)
        node.contents.store.path(digest).write_bytes(b"rotten")
    outcome = node.activation.recover()
    assert outcome is not None
    assert outcome.result is Result.ROLLED_BACK
    assert node.host.snapshot() == before


def test_a_machine_that_died_while_leaving_does_not_delete_its_node_without_credentials(node: Lab) -> None:
    crash(node, lambda: node.activation.activate(Generation()), "before stop kubelet.service")
    outcome = node.activation.recover()
    assert outcome is not None
    assert outcome.result is Result.LEFT
    assert node.left_nodes == ["node-1"]


def test_a_boot_in_the_middle_of_leaving_takes_nothing_away_before_its_turn(node: Lab) -> None:
    crash(node, lambda: node.activation.activate(Generation()), "before stop pod web")
    node.host.writes.clear()
    node.activation.prepare_boot()
    assert node.host.writes == []


def reboot(lab: Lab) -> None:
    """Everything stops; kubelet starts again if it is enabled, and makes its Node and its pods anew."""
    for process in lab.host.units.processes.values():
        process.active = False
    lab.host.runtime.pods.clear()
    lab.host.files.place(BOOT_ID, "another\n")
    for name in ("containerd.service", "kubelet.service"):
        if lab.host.units.find(name).enablement is Enablement.ENABLED:
            lab.host.units.start(name)


def test_what_kubelet_made_again_after_a_reboot_leaves_again(node: Lab) -> None:
    node.host.files.place(BOOT_ID, "one\n")
    crash(node, lambda: node.activation.activate(Generation()), "before disable kubelet.service")
    reboot(node)
    assert node.host.runtime.pods == ["web"]
    outcome = node.activation.recover()
    assert outcome is not None
    assert outcome.result is Result.LEFT
    assert node.left_nodes == ["node-1", "node-1"]
    assert node.host.runtime.pods == []


def test_credentials_that_are_gone_after_a_reboot_do_not_keep_the_machine_from_leaving(node: Lab) -> None:
    """The Node was deleted in the boot before; nobody can have made it again."""
    node.host.files.place(BOOT_ID, "one\n")
    crash(node, lambda: node.activation.activate(Generation()), "after remove /var/lib/kubelet")
    reboot(node)
    outcome = node.activation.recover()
    assert outcome is not None
    assert (outcome.result, outcome.reservations) == (Result.LEFT, ())
    assert any("no credentials are left" in each for each in outcome.warnings)
    assert node.left_nodes == ["node-1"]
