"""A machine gets to its generation, or back to the one before; nothing changes that need not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from flexnode.errors import FlexError, GenerationError, HostError, Kind
from flexnode.generation import (
    Activation,
    Deadline,
    Desired,
    Generation,
    Moment,
    Name,
    NoLedger,
    Outcome,
    Result,
    Stopped,
    compose,
)
from flexnode.generation.lock import hold
from flexnode.host.fake import FakeHost
from flexnode.resources import Resource
from flexnode.resources.state import File, Text
from unit.generation.samples import (
    BOOTSTRAP_CONFIG,
    CERTIFICATE,
    JOURNALD_DROP_IN,
    TOKEN,
    Lab,
    make_host,
    make_node,
    text,
)

FIRST = make_node()
CHANGED = make_node(containerd_config="version = 3\nchanged = true\n")
NEXT = make_node(kubelet="1.35.0", containerd_config="version = 3\nnext = true\n")
CONFIG = "/etc/containerd/config.toml"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "state")


@pytest.fixture
def node(lab: Lab) -> Lab:
    assert lab.activation.activate(FIRST, operation="bootstrap", inputs="first").result is Result.CONFIRMED
    lab.host.writes.clear()
    lab.verify.seen.clear()
    return lab


def but(activation: Activation, **changes: Any) -> Activation:
    return replace(activation, **changes)


def read(lab: Lab, path: str) -> str:
    return lab.host.files.read(path).decode()


def is_there(lab: Lab, path: str) -> bool:
    return lab.host.files.find(path) is not None


# Forward.


def test_a_bootstrap_is_current_only_after_it_was_verified(lab: Lab) -> None:
    seen: list[str | None] = []

    def verify(generation: Generation, deadline: Deadline) -> None:
        seen.append(lab.memory()["current"])
        assert lab.host.units.is_active("kubelet.service")
        assert 0 < deadline.remaining <= 900

    activation = but(lab.activation, verify=verify)
    outcome = activation.activate(FIRST, operation="bootstrap", inputs="first")
    assert (outcome.result, outcome.generation, outcome.current) == (Result.CONFIRMED, FIRST.id, FIRST.id)
    assert seen == [None]
    memory = lab.memory()
    assert (memory["current"], memory["desired"], memory["journal"]) == (FIRST.id, Desired.JOINED, False)


def test_a_second_run_writes_nothing_at_all(node: Lab) -> None:
    stamps = {path: path.stat().st_mtime_ns for path in node.folder.rglob("*") if path.is_file()}
    outcome = node.activation.activate(FIRST, operation="bootstrap", inputs="first")
    assert outcome.result is Result.UNCHANGED
    assert node.host.writes == []
    assert node.verify.seen == []
    lock = node.directory.lock
    after = {path: path.stat().st_mtime_ns for path in node.folder.rglob("*") if path.is_file()}
    assert {**after, lock: 0} == {**stamps, lock: 0}


def test_the_credential_of_the_join_is_gone_as_soon_as_it_did_its_work(node: Lab) -> None:
    assert is_there(node, CERTIFICATE)
    assert not is_there(node, BOOTSTRAP_CONFIG)


def test_no_secret_is_in_anything_that_is_kept(lab: Lab) -> None:
    lab.verify.failing.add(FIRST.kubernetes)
    outcome = lab.activation.activate(FIRST)
    assert TOKEN in read(lab, BOOTSTRAP_CONFIG)
    assert lab.host.files.nodes[BOOTSTRAP_CONFIG].mode == 0o600
    kept = b"".join(path.read_bytes() for path in lab.folder.rglob("*") if path.is_file())
    assert b"bootstrap-token" in kept
    assert TOKEN.encode() not in kept + msgspec.json.encode(outcome)


def test_only_what_reads_a_change_is_restarted_and_only_once(node: Lab) -> None:
    outcome = node.activation.activate(CHANGED)
    assert outcome.restarts == ("containerd.service",)
    assert node.host.writes == [f"write {CONFIG}", "restart containerd.service"]


def test_several_changes_of_one_unit_are_one_restart_after_all_of_them(node: Lab) -> None:
    outcome = node.activation.activate(NEXT)
    writes = node.host.writes
    assert outcome.restarts == ("systemd-journald.service", "containerd.service", "kubelet.service")
    assert writes.count("restart containerd.service") == 1
    assert writes.index("restart containerd.service") > writes.index(
        "write /etc/systemd/system/containerd.service.d/10-limits.conf"
    )
    assert writes.count("restart kubelet.service") == 1
    assert writes.index("restart kubelet.service") > writes.index("write /usr/local/bin/kubelet")


def test_a_unit_that_was_just_started_is_not_started_again(lab: Lab) -> None:
    lab.activation.activate(FIRST)
    assert lab.host.writes.count("start kubelet.service") == 1
    assert "restart kubelet.service" not in lab.host.writes
    assert "restart containerd.service" not in lab.host.writes


def test_systemd_is_told_of_a_changed_unit_before_the_unit_restarts(node: Lab) -> None:
    node.activation.activate(NEXT)
    writes = node.host.writes
    assert writes.index("reload systemd") < writes.index("restart containerd.service")
    assert not node.host.units.find("containerd.service").needs_reload


def test_a_unit_that_can_take_a_change_over_is_only_reloaded(lab: Lab) -> None:
    lab.host.units.place("web.service", active=True)
    target = compose([text("/etc/web", "1", reloads=("web.service",)), text("/etc/web2", "1")])
    outcome = lab.activation.activate(target)
    assert "reload web.service" in lab.host.writes
    assert outcome.restarts == ("web.service",)
    both = compose(
        [
            text("/etc/web", "2", reloads=("web.service",)),
            text("/etc/web2", "2", restarts=("web.service",)),
        ]
    )
    lab.host.writes.clear()
    lab.activation.activate(both)
    assert lab.host.writes == ["write /etc/web", "write /etc/web2", "restart web.service"]


def test_a_unit_that_does_not_run_is_not_started_by_a_change(lab: Lab) -> None:
    lab.host.units.place("web.service")
    outcome = lab.activation.activate(
        compose([text("/etc/web", "1", restarts=("web.service", "none.service"))])
    )
    assert outcome.restarts == ()
    assert lab.host.writes == ["write /etc/web"]


def test_drift_is_repaired_by_the_current_generation(node: Lab) -> None:
    node.host.files.place(CONFIG, "edited\n")
    node.host.units.stop("kubelet.service")
    node.host.units.disable("kubelet.service")
    node.host.units.place("kubelet.service")
    outcome = node.activation.activate(FIRST)
    assert outcome.result is Result.CONFIRMED
    assert read(node, CONFIG) == "version = 3\n"
    assert node.host.units.is_active("kubelet.service")
    assert node.memory()["previous"] is None


def test_a_masked_unit_and_an_edited_file_are_repaired(node: Lab) -> None:
    """Row 31: the daemon decides by policy whether it activates; when it does, this is what happens."""
    node.host.files.nodes.pop("/etc/systemd/system/containerd.service")
    node.host.units.mask("containerd.service")
    outcome = node.activation.activate(FIRST)
    assert outcome.result is Result.CONFIRMED
    assert read(node, "/etc/systemd/system/containerd.service").startswith("[Service]")


def test_a_step_that_fails_for_the_moment_is_tried_again(lab: Lab) -> None:
    refusals = [HostError("busy", code="runtime/unavailable", transient=True) for _ in range(3)]

    def refuse(moment: str) -> None:
        if moment.startswith("before import") and refusals:
            raise refusals.pop()

    lab.host.hook = refuse
    assert lab.activation.activate(FIRST).result is Result.CONFIRMED
    assert refusals == []
    assert len(lab.clock.slept) == 3


def test_everything_that_happens_is_told_and_timed(lab: Lab) -> None:
    told: list[tuple[Moment, Name]] = []
    lab.observer = lambda moment, name, _key: told.append((moment, name))
    outcome = lab.activation.activate(FIRST)
    order = [name for moment, name in told if moment is Moment.BEGIN]
    assert (
        order.index(Name.STAGE)
        < order.index(Name.APPLY)
        < order.index(Name.VERIFY)
        < order.index(Name.CONFIRM)
    )
    assert told.count((Moment.BEGIN, Name.APPLY)) == len(outcome.changes)
    begun = [name for moment, name in told if moment is Moment.BEGIN]
    ended = [name for moment, name in told if moment is Moment.END]
    assert sorted(begun) == sorted(ended)
    assert {each.name for each in outcome.timings} >= {Name.STAGE, Name.APPLY, Name.VERIFY, Name.CONFIRM}


def test_an_outcome_survives_being_written_down(node: Lab) -> None:
    node.verify.failing.add(NEXT.kubernetes)
    outcome = node.activation.activate(NEXT)
    assert msgspec.json.decode(msgspec.json.encode(outcome), type=Outcome) == outcome


def test_nothing_is_done_while_another_operation_runs(node: Lab) -> None:
    with hold(node.directory.lock, "upgrade", clock=node.clock), pytest.raises(FlexError) as caught:
        node.activation.activate(NEXT)
    assert caught.value.code == "state/busy"
    assert node.host.writes == []


# A first bootstrap that does not work.


def test_a_first_bootstrap_that_does_not_work_stays_and_can_be_gone_on_with(lab: Lab) -> None:
    lab.verify.failing.add(FIRST.kubernetes)
    outcome = lab.activation.activate(FIRST, operation="bootstrap")
    assert outcome.result is Result.UNCONFIRMED
    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.hint) == ("node/not-ready", "see kubelet's log")
    assert outcome.current is None
    assert lab.host.units.is_active("kubelet.service")
    assert lab.memory()["rejected"] == []
    lab.verify.failing.clear()
    lab.host.writes.clear()
    assert lab.activation.activate(FIRST, operation="bootstrap").result is Result.CONFIRMED
    assert [each for each in lab.host.writes if "start" in each] == []


def test_a_first_bootstrap_that_cannot_be_applied_says_why(lab: Lab) -> None:
    lab.host.packages.locked = True
    outcome = lab.activation.activate(FIRST)
    assert outcome.result is Result.UNCONFIRMED
    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.kind) == ("package/locked", Kind.TRANSIENT)
    lab.host.packages.locked = False
    assert lab.activation.activate(FIRST).result is Result.CONFIRMED


def test_a_corrected_configuration_takes_the_place_of_the_first_attempt(lab: Lab) -> None:
    """Nothing of the first attempt stays: neither its files nor its changes of units."""
    lab.verify.failing.add(FIRST.kubernetes)
    lab.activation.activate(FIRST)
    assert lab.activation.activate(NEXT).result is Result.CONFIRMED
    assert not is_there(lab, JOURNALD_DROP_IN)
    assert read(lab, "/usr/local/bin/crictl") == "#!/bin/sh\n"
    direct = Lab(lab.folder.parent / "direct")
    direct.activation.activate(NEXT)
    assert lab.host.snapshot() == direct.host.snapshot()


# Back.


@pytest.fixture
def broken(node: Lab) -> Lab:
    node.verify.failing.add(NEXT.kubernetes)
    return node


def test_an_upgrade_that_does_not_become_ready_is_undone_without_network(broken: Lab) -> None:
    before = broken.host.snapshot()
    broken.activation.stage(NEXT)
    broken.online = False
    outcome = broken.activation.activate(NEXT, operation="upgrade", inputs="next")
    assert outcome.result is Result.ROLLED_BACK
    assert outcome.failure is not None
    assert outcome.failure.message == "the Node does not become Ready"
    assert (outcome.generation, outcome.current) == (NEXT.id, FIRST.id)
    assert broken.host.snapshot() == before
    assert broken.verify.seen == [NEXT.kubernetes, FIRST.kubernetes]
    memory = broken.memory()
    assert (memory["current"], memory["rejected"], memory["journal"]) == (FIRST.id, [NEXT.id], False)
    assert memory["generations"] == (FIRST.id,)


def test_an_upgrade_whose_unit_does_not_start_is_undone(node: Lab) -> None:
    before = node.host.snapshot()

    def refuse(moment: str) -> None:
        if moment == "before restart kubelet.service" and b"1.35" in node.host.files.read(
            "/usr/local/bin/kubelet"
        ):
            raise HostError("kubelet.service did not start", code="host/unit-failed")

    node.host.hook = refuse
    outcome = node.activation.activate(NEXT)
    assert outcome.result is Result.ROLLED_BACK
    assert node.host.snapshot() == before


def test_what_did_not_work_is_not_tried_again_by_itself(broken: Lab) -> None:
    broken.activation.activate(NEXT, inputs="next")
    broken.host.writes.clear()
    with pytest.raises(GenerationError, match="does not become Ready") as caught:
        broken.activation.activate(NEXT, inputs="next")
    assert caught.value.code == "generation/rejected"
    assert not caught.value.transient
    assert "--retry" in caught.value.hint
    assert broken.host.writes == []


def test_a_person_can_insist_and_other_inputs_are_another_try(broken: Lab) -> None:
    broken.activation.activate(NEXT, inputs="next")
    assert broken.activation.activate(NEXT, inputs="next", retry=True).result is Result.ROLLED_BACK
    assert broken.activation.activate(NEXT, inputs="other").result is Result.ROLLED_BACK
    broken.verify.failing.clear()
    assert broken.activation.activate(NEXT, inputs="next", retry=True).result is Result.CONFIRMED
    assert broken.memory()["rejected"] == []


def test_a_node_that_works_neither_way_is_degraded_with_the_old_generation_in_place(broken: Lab) -> None:
    before = broken.host.snapshot()
    broken.verify.failing.add(FIRST.kubernetes)
    outcome = broken.activation.activate(NEXT)
    assert outcome.result is Result.DEGRADED
    assert "previous generation does not work either" in outcome.reservations[0]
    assert broken.host.snapshot() == before
    memory = broken.memory()
    assert (memory["current"], memory["journal"]) == (FIRST.id, False)


def test_a_way_back_that_is_blocked_is_gone_on_with_later(broken: Lab) -> None:
    before = broken.host.snapshot()
    blocked = True

    def refuse(moment: str) -> None:
        if blocked and moment == f"before write {CONFIG}" and "next" in read(broken, CONFIG):
            raise HostError("the disk fails", code="host/io-error")

    broken.host.hook = refuse
    outcome = broken.activation.activate(NEXT)
    assert outcome.result is Result.DEGRADED
    assert "going back failed too" in outcome.reservations[-1]
    assert broken.memory()["journal"]
    blocked = False
    recovered = broken.activation.recover()
    assert recovered is not None
    assert recovered.result is Result.ROLLED_BACK
    assert broken.host.snapshot() == before


def test_a_file_that_the_user_changed_while_it_was_not_managed_survives_a_rollback(node: Lab) -> None:
    """The ledger knows how it was before the first time; what counts is how it was before this upgrade."""
    extra = compose([*FIRST.resources, text("/etc/extra", "managed\n")], needs=FIRST.needs)
    node.activation.activate(extra)
    node.activation.activate(FIRST)
    assert not is_there(node, "/etc/extra")
    node.host.files.place("/etc/extra", "the user's own\n", mode=0o640)
    broken = compose(
        [*FIRST.resources, text("/etc/extra", "managed again\n")], needs=FIRST.needs, kubernetes="9.9"
    )
    node.verify.failing.add("9.9")
    assert node.activation.activate(broken).result is Result.ROLLED_BACK
    assert read(node, "/etc/extra") == "the user's own\n"
    assert node.host.files.nodes["/etc/extra"].mode == 0o640


def test_a_repair_that_does_not_help_is_neither_undone_nor_rejected(node: Lab) -> None:
    node.host.files.place(CONFIG, "edited\n")
    node.verify.failing.add(FIRST.kubernetes)
    outcome = node.activation.activate(FIRST)
    assert outcome.result is Result.DEGRADED
    assert read(node, CONFIG) == "version = 3\n"
    assert node.memory()["rejected"] == []
    node.verify.failing.clear()
    assert node.activation.activate(FIRST).result is Result.CONFIRMED
    assert not node.memory()["journal"]


def test_an_upgrade_has_only_so_much_time(node: Lab) -> None:
    before = node.host.snapshot()
    node.host.hook = lambda moment: node.clock.sleep(20) if moment.startswith("before write") else None
    outcome = node.activation.activate(NEXT, seconds=30)
    assert outcome.result is Result.ROLLED_BACK
    assert outcome.failure is not None
    assert outcome.failure.code == "generation/out-of-time"
    assert node.host.snapshot() == before


def test_a_person_goes_back_and_the_daemon_does_not_go_forward_again(node: Lab) -> None:
    before = node.host.snapshot()
    node.activation.activate(NEXT, inputs="next")
    node.online = False
    outcome = node.activation.rollback()
    assert outcome.result is Result.CONFIRMED
    assert node.host.snapshot() == before
    memory = node.memory()
    assert (memory["current"], memory["previous"], memory["rejected"]) == (FIRST.id, NEXT.id, [NEXT.id])
    with pytest.raises(GenerationError, match="a person went back"):
        node.activation.activate(NEXT, inputs="next")


def test_going_back_leaves_behind_what_is_configured_now(node: Lab) -> None:
    """A change that led to the same node came in between: it must not bring the newer one back."""
    node.activation.activate(NEXT, inputs="next")
    assert node.activation.activate(NEXT, inputs="next, logged louder").result is Result.UNCHANGED
    node.activation.rollback()
    with pytest.raises(GenerationError, match="a person went back"):
        node.activation.activate(NEXT, inputs="next, logged louder")


def test_there_is_nothing_to_go_back_to_on_a_first_generation(node: Lab) -> None:
    with pytest.raises(GenerationError) as caught:
        node.activation.rollback()
    assert caught.value.code == "generation/no-previous"
    assert not node.memory()["journal"]


# Stopping.


def go_on(lab: Lab) -> Outcome | None:
    """One attempt; nothing if it was stopped."""
    try:
        return lab.activation.recover() if lab.memory()["journal"] else lab.activation.activate(NEXT)
    except Stopped:
        return None


def test_a_stopped_operation_ends_between_two_steps_and_goes_on_later(node: Lab) -> None:
    undisturbed = Lab(node.folder.parent / "undisturbed", host=make_host())
    undisturbed.activation.activate(FIRST)
    undisturbed.activation.activate(NEXT)
    allowed = 0
    node.stop = lambda: len(node.host.writes) > allowed
    stops = 0
    while not (outcome := go_on(node)):
        assert node.memory()["journal"]
        allowed = len(node.host.writes)
        stops += 1
    assert outcome.result is Result.CONFIRMED
    assert stops > 3  # more often than a crash would be forgiven
    assert node.host.snapshot() == undisturbed.host.snapshot()


def test_what_fails_while_it_is_stopped_is_not_held_against_the_target(node: Lab) -> None:
    """Ctrl-C reaches the programs that run at that moment as well."""
    asked: list[str] = []
    node.stop = lambda: bool(asked)

    def interrupt(moment: str) -> None:
        if moment == "before restart containerd.service":
            asked.append(moment)
            raise HostError("systemctl was interrupted", code="host/unit-failed")

    node.host.hook = interrupt
    with pytest.raises(Stopped):
        node.activation.activate(NEXT)
    assert node.memory()["rejected"] == []
    asked.clear()
    node.host.hook = lambda _moment: None
    outcome = node.activation.recover()
    assert outcome is not None
    assert (outcome.result, outcome.current) == (Result.CONFIRMED, NEXT.id)


def test_a_verification_can_be_stopped_too(node: Lab) -> None:
    def verify(_generation: Generation, _deadline: Deadline) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        but(node.activation, verify=verify).activate(NEXT)
    assert node.memory()["journal"]
    outcome = node.activation.recover()
    assert outcome is not None
    assert (outcome.result, outcome.current) == (Result.CONFIRMED, NEXT.id)


def test_an_outage_that_is_not_the_machine_s_fault_gives_time_back(node: Lab) -> None:
    def verify(_generation: Generation, deadline: Deadline) -> None:
        node.clock.sleep(100)
        deadline.extend(100)
        assert deadline.remaining == pytest.approx(30)

    outcome = but(node.activation, verify=verify).activate(CHANGED, seconds=30)
    assert outcome.result is Result.CONFIRMED


# Images.


def test_a_baked_machine_is_joined_by_the_joined_part_alone_and_leaves_as_it_was_baked(
    tmp_path: Path,
) -> None:
    bench = Lab(tmp_path / "bench", host=FakeHost(running=False))
    baking = but(bench.activation, ledger=NoLedger())
    assert baking.activate(FIRST.baked(), operation="bake").result is Result.CONFIRMED
    assert not any(path.is_file() for path in bench.directory.ledger.glob("*"))

    booted = Lab(tmp_path / "booted")
    booted.host.files.nodes = bench.host.files.nodes
    booted.host.packages.present = bench.host.packages.present
    booted.host.accounts.groups = bench.host.accounts.groups
    baked = booted.host.files.snapshot(times=True)
    outcome = booted.activation.activate(FIRST, operation="bootstrap")
    assert outcome.result is Result.CONFIRMED
    written = {each.key for each in outcome.changes if each.kind in ("file", "link", "directory", "packages")}
    assert written == {
        "directory:/etc/kubernetes",
        f"file:{BOOTSTRAP_CONFIG}",
        "file:/etc/kubernetes/kubelet.json",
    }
    left = booted.activation.activate(Generation())
    assert left.result is Result.LEFT
    after = booted.host.files.snapshot(times=True)
    assert {path: state for path, state in after.items() if baked.get(path) != state} == {}
    assert "/usr/local/bin/kubelet" in after


def test_a_kind_that_this_version_does_not_know_is_refused_by_name(lab: Lab) -> None:
    strange = compose([Resource(key="teleport:x", want=File(content=Text(text="")))])
    with pytest.raises(GenerationError, match="teleport") as caught:
        lab.activation.activate(strange)
    assert caught.value.code == "generation/unknown-kind"
    assert not lab.memory()["journal"]
