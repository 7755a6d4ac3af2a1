"""Everything that needs no cluster comes ahead of the join, from a configuration that names none."""

from __future__ import annotations

import json
import shutil

import pytest

from flexnode.components.layout import CONTAINERD, KUBELET
from flexnode.errors import FlexError, Kind
from flexnode.flows.bootstrap import BootstrapOptions, prepare_machine
from flexnode.flows.findings import Findings, recall, remember
from flexnode.flows.going_back import prepare_boot, recover, rollback
from flexnode.flows.keeping import is_prepared
from flexnode.flows.planning import plan_bootstrap, plan_preparation
from flexnode.flows.records import find_provision
from flexnode.flows.target import make_machine_target, make_target
from flexnode.flows.unbootstrap import unbootstrap
from flexnode.generation import Result
from flexnode.resources import Phase
from unit.flows.samples import NODE_PATH
from unit.flows.world import CATALOG, TOKEN, World
from unit.generation.samples import Crash

NEWER = CATALOG.release_set("1.35").kubernetes
MINOR = {"versions": {"kubernetes": "1.35"}}


@pytest.fixture
def prepared(world: World) -> World:
    assert world.prepare(**MINOR).failure is None
    world.host.writes.clear()
    return world


def refuses(world: World) -> FlexError:
    """The failure of preparing; that the machine is as it was is held on the way."""
    before = world.host.snapshot(times=True)
    with pytest.raises(FlexError) as caught:
        world.prepare(**MINOR)
    assert world.host.snapshot(times=True) == before
    return caught.value


def test_a_machine_is_prepared_without_a_cluster(world: World) -> None:
    outcome = world.prepare(**MINOR)
    assert (outcome.result, outcome.joined, outcome.reservations) == (Result.CONFIRMED, False, ())
    assert world.host.units.is_active(CONTAINERD)
    assert world.host.files.read("/usr/local/bin/kubelet").decode() == f"kubelet {NEWER}"
    assert not world.host.units.is_active(KUBELET)
    assert is_prepared(world.directory)
    assert world.server.seen == []


def test_a_cluster_that_is_configured_is_not_asked_either(world: World) -> None:
    """Ahead of a maintenance window it may be down, and the token not made yet."""
    world.api_down = True
    world.host.network.hostname = "localhost"
    outcome = prepare_machine(world.resolved(), world.workplace, BootstrapOptions())
    assert outcome.result is Result.CONFIRMED
    assert world.server.seen == []
    assert TOKEN not in "".join(
        path.read_text(errors="ignore") for path in world.directory.root.rglob("*") if path.is_file()
    )


def test_what_is_prepared_is_the_baked_part_of_the_node(world: World) -> None:
    """Or the join would do again, or undo, what was done."""
    alone = make_machine_target(world.resolved(**MINOR), world.workplace).generation
    assert alone == make_target(world.resolved(**MINOR), world.workplace).generation.baked()


def test_the_join_adds_only_what_is_left(prepared: World) -> None:
    resolved = prepared.resolved(**MINOR)
    plan = plan_bootstrap(resolved, prepared.workplace)
    target = make_target(resolved, prepared.workplace).generation
    phases = {each.key: each.phase for each in target.resources}
    assert {phases[change.key] for change in plan.changes} == {Phase.JOINED}
    shutil.rmtree(prepared.mirror / "sha256")
    (prepared.mirror / "sha256").mkdir()
    outcome = prepared.bootstrap(**MINOR)
    assert (outcome.result, outcome.joined) == (Result.CONFIRMED, True)
    assert CONTAINERD not in outcome.restarts
    assert prepared.cluster.get(NODE_PATH) is not None


def test_a_node_comes_out_the_same_with_and_without_preparing(prepared: World) -> None:
    target = make_target(prepared.resolved(**MINOR), prepared.workplace).generation
    assert prepared.bootstrap(**MINOR).current == target.id
    assert plan_bootstrap(prepared.resolved(**MINOR), prepared.workplace).changes == ()


def test_preparing_again_changes_nothing(prepared: World) -> None:
    shutil.rmtree(prepared.mirror)
    assert prepared.prepare(**MINOR).result is Result.UNCHANGED
    assert prepared.host.writes == []


def test_a_plan_of_it_is_what_it_does(world: World) -> None:
    resolved = world.resolved(complete=False, cluster={}, auth={}, **MINOR)
    plan = plan_preparation(resolved, world.workplace)
    assert not world.directory.root.exists()
    done = {change.key for change in world.prepare(**MINOR).changes}
    assert {f"unit:{CONTAINERD}", "file:/usr/local/bin/kubelet"} <= done
    assert done <= {change.key for change in plan.changes}
    assert plan_preparation(resolved, world.workplace).changes == ()


def test_a_node_is_not_prepared_nor_is_that_planned(joined: World) -> None:
    assert refuses(joined).code == "generation/would-leave"
    with pytest.raises(FlexError) as caught:
        plan_preparation(joined.resolved(), joined.workplace)
    assert caught.value.code == "generation/would-leave"


def test_a_machine_that_is_not_fit_is_left_as_it_is(world: World) -> None:
    world.host.units.place("docker.service", enabled=True, active=True)
    assert refuses(world).code == "preflight/other-runtime"
    assert not world.directory.journal.exists()


def test_a_file_that_is_nowhere_is_known_before_anything_changes(world: World) -> None:
    shutil.rmtree(world.mirror / "sha256")
    (world.mirror / "sha256").mkdir()
    assert refuses(world).kind is Kind.TERMINAL


def test_it_leaves_what_scripts_and_people_read_afterwards(prepared: World) -> None:
    provision = find_provision(prepared.directory)
    assert provision is not None
    assert (provision.operation, provision.result, provision.code) == ("prepare", "confirmed", "ok")
    assert provision.config
    events = [
        json.loads(line) for line in (prepared.directory.root / "events.jsonl").read_text().splitlines()
    ]
    assert {event["operation"] for event in events} == {"prepare"}
    assert "see that it can start pods: done" in prepared.books.told


def test_a_join_that_fails_is_a_first_join_with_all_its_time(prepared: World) -> None:
    """Not a change, which has a third of the time and is taken back."""
    prepared.broken.add(NEWER)
    begun = prepared.clock.monotonic()
    outcome = prepared.bootstrap(**MINOR)
    assert (outcome.result, outcome.joined) == (Result.UNCONFIRMED, False)
    assert outcome.failure is not None
    assert outcome.failure.code == "node/not-ready"
    assert prepared.clock.monotonic() - begun >= 900
    assert prepared.host.units.is_active(KUBELET)
    assert refuses(prepared).code == "generation/would-leave"
    prepared.broken.clear()
    assert prepared.bootstrap(**MINOR).result is Result.CONFIRMED


def test_a_machine_that_began_to_join_keeps_the_name_that_its_certificate_has(prepared: World) -> None:
    prepared.broken.add(NEWER)
    prepared.bootstrap(**MINOR)
    with pytest.raises(FlexError) as caught:
        prepared.bootstrap(**MINOR, node={"name": "other"})
    assert caught.value.code == "join/name-changed"


def test_a_machine_that_could_not_join_one_cluster_asks_the_next_one_itself(prepared: World) -> None:
    """What the first one said of itself is not true of another."""
    remember(
        prepared.directory, Findings(server="https://other.invalid", ca="", settings={"cluster.domain": "x"})
    )
    assert prepared.bootstrap(**MINOR).result is Result.CONFIRMED
    found = recall(prepared.directory, prepared.server.url)
    assert found is not None
    assert found.settings["cluster.dnsServiceIP"] == "10.96.0.10"


def test_there_is_no_way_back_out_of_the_cluster_but_leaving(prepared: World) -> None:
    prepared.bootstrap(**MINOR)
    with pytest.raises(FlexError) as caught:
        rollback(prepared.workplace, seconds=60)
    assert "unbootstrap" in caught.value.hint
    assert prepared.bootstrap(**MINOR).result is Result.UNCHANGED


@pytest.mark.parametrize("end", ["prepared", "joined", "unconfirmed"])
def test_leaving_undoes_all_of_it(world: World, end: str) -> None:
    before = world.host.snapshot()
    world.prepare(**MINOR)
    if end == "unconfirmed":
        world.broken.add(NEWER)
    if end == "prepared":
        world.api_down = True
    else:
        world.bootstrap(**MINOR)
    assert unbootstrap(world.workplace).result is Result.LEFT
    assert world.host.snapshot() == before
    assert world.cluster.get(NODE_PATH) is None
    assert world.memory()["current"] is None


def test_preparing_that_was_cut_off_ends_at_boot_without_a_configuration(world: World) -> None:
    def die(moment: str) -> None:
        if moment.startswith(f"before start {CONTAINERD}"):
            raise Crash(moment)

    world.host.hook = die
    with pytest.raises(Crash):
        world.prepare(**MINOR)
    world.host.hook = lambda _moment: None
    prepare_boot(world.workplace)
    outcome = recover(world.workplace)
    assert outcome is not None
    assert (outcome.result, outcome.joined) == (Result.CONFIRMED, False)
    assert is_prepared(world.directory)


def test_a_bootstrap_goes_on_where_preparing_was_cut_off(world: World) -> None:
    def die(moment: str) -> None:
        if moment.startswith(f"before start {CONTAINERD}"):
            raise Crash(moment)

    world.host.hook = die
    with pytest.raises(Crash):
        world.prepare(**MINOR)
    world.host.hook = lambda _moment: None
    assert world.bootstrap(**MINOR).result is Result.CONFIRMED


def test_another_version_can_be_prepared_and_the_one_before_comes_back(prepared: World) -> None:
    prepared.prepare(versions={"kubernetes": "1.34"})
    outcome = rollback(prepared.workplace, seconds=60)
    assert (outcome.result, outcome.joined) == (Result.CONFIRMED, False)
    assert prepared.host.files.read("/usr/local/bin/kubelet").decode() == f"kubelet {NEWER}"
