"""The generation before is one call away, and what was cut off comes to an end by itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from flexnode.components.layout import KUBELET
from flexnode.errors import FlexError
from flexnode.flows.findings import recall
from flexnode.flows.going_back import prepare_boot, recover, rollback
from flexnode.flows.unbootstrap import unbootstrap
from flexnode.generation import Desired, Result
from unit.flows.samples import NODE_PATH
from unit.flows.world import CATALOG, World
from unit.generation.samples import Crash

OLDER = CATALOG.release_set("1.34").kubernetes
NEWER = CATALOG.release_set("1.35").kubernetes


@pytest.fixture
def upgraded(world: World) -> World:
    world.bootstrap(versions={"kubernetes": "1.34"})
    assert world.bootstrap(versions={"kubernetes": "1.35"}).result is Result.CONFIRMED
    return world


def version(world: World) -> str:
    node = world.cluster.get(NODE_PATH)
    assert node is not None
    found: str = node["status"]["nodeInfo"]["kubeletVersion"]
    return found


def test_going_back_needs_no_source_of_files(upgraded: World) -> None:
    shutil.rmtree(upgraded.mirror)
    upgraded.overlay.unlink()
    outcome = rollback(upgraded.workplace, seconds=300)
    assert outcome.result is Result.CONFIRMED
    assert version(upgraded) == f"v{OLDER}"
    assert upgraded.books.open == []


def test_what_was_left_behind_does_not_come_back_by_itself(upgraded: World) -> None:
    """The agent would otherwise upgrade again what a person has just taken back."""
    rollback(upgraded.workplace, seconds=300)
    state = upgraded.directory.load_state().value
    assert state is not None
    assert len(state.rejected) == 1


def test_going_back_waits_for_an_api_server_that_is_away(upgraded: World) -> None:
    """The machine is at work again at once; it counts as done when the cluster says so."""
    upgraded.api_down = True
    back = upgraded.clock.monotonic() + 1000
    upgraded.clock.at(back, lambda: setattr(upgraded, "api_down", False))
    outcome = rollback(upgraded.workplace, seconds=60)
    assert outcome.result is Result.CONFIRMED
    assert upgraded.clock.monotonic() >= back


def test_going_back_to_what_does_not_work_stays_where_it_is(upgraded: World) -> None:
    upgraded.broken.add(OLDER)
    outcome = rollback(upgraded.workplace, seconds=60)
    assert outcome.result is Result.ROLLED_BACK
    assert version(upgraded) == f"v{NEWER}"


def test_there_is_nothing_before_the_first_generation(joined: World) -> None:
    with pytest.raises(FlexError) as caught:
        rollback(joined.workplace, seconds=60)
    assert caught.value.code == "generation/no-previous"
    assert joined.host.writes == []


def test_nothing_is_cut_off_where_everything_ended(joined: World) -> None:
    assert recover(joined.workplace) is None
    prepare_boot(joined.workplace)
    assert joined.host.writes == []


def test_a_machine_that_nobody_touched_has_nothing_to_recover(world: World) -> None:
    assert recover(world.workplace) is None
    prepare_boot(world.workplace)
    assert not world.directory.root.exists()


def cut_off(world: World, act: Callable[[], object], at: str) -> None:
    """Kill -9 when the machine is about to do something that begins so."""

    def die(moment: str) -> None:
        if moment.startswith(f"before {at}"):
            raise Crash(moment)

    world.host.hook = die
    with pytest.raises(Crash):
        act()
    world.host.hook = lambda _moment: None


@pytest.mark.parametrize(
    "at", ["write /etc/containerd", "start containerd", "write /etc/kubernetes", "start kubelet"]
)
def test_a_first_bootstrap_that_was_cut_off_is_brought_to_its_end(world: World, at: str) -> None:
    cut_off(world, world.bootstrap, at)
    outcome = recover(world.workplace, spec=world.resolved().spec)
    assert outcome is not None
    assert outcome.result is Result.CONFIRMED
    assert version(world) == f"v{NEWER}"
    assert world.memory()["journal"] is False


def test_a_bootstrap_that_was_cut_off_is_gone_on_with_by_the_next(world: World) -> None:
    cut_off(world, world.bootstrap, "start kubelet")
    assert world.bootstrap().result is Result.CONFIRMED


def test_without_its_token_a_machine_waits_for_its_configuration(world: World) -> None:
    """The token is nowhere but in the configuration: it cannot be written into kubelet's file without it."""
    cut_off(world, world.bootstrap, "write /etc/kubernetes/bootstrap")
    outcome = recover(world.workplace)
    assert outcome is not None
    assert outcome.result is Result.UNCONFIRMED
    assert outcome.failure is not None
    assert world.bootstrap().result is Result.CONFIRMED


@pytest.mark.parametrize("at", ["write /usr/local/bin/kubelet", "restart kubelet"])
def test_an_upgrade_that_was_cut_off_ends_ready(world: World, at: str) -> None:
    """Row 22: one of the two versions; here the new one, for which there is time enough."""
    world.bootstrap(versions={"kubernetes": "1.34"})
    cut_off(world, lambda: world.bootstrap(versions={"kubernetes": "1.35"}), at)
    prepare_boot(world.workplace)
    outcome = recover(world.workplace)
    assert outcome is not None
    assert outcome.result is Result.CONFIRMED
    assert version(world) == f"v{NEWER}"
    assert world.host.units.is_active(KUBELET)


def test_a_rollback_that_was_cut_off_ends(upgraded: World) -> None:
    cut_off(upgraded, lambda: rollback(upgraded.workplace, seconds=300), "restart kubelet")
    outcome = recover(upgraded.workplace)
    assert outcome is not None
    assert outcome.result is Result.CONFIRMED
    assert version(upgraded) == f"v{OLDER}"


@pytest.mark.parametrize("at", ["stop kubelet", "stop containerd", "remove /var/lib/kubelet", "purge"])
def test_a_machine_that_was_cut_off_while_it_left_goes_on_leaving(world: World, at: str) -> None:
    before = world.host.snapshot()
    world.bootstrap()
    cut_off(world, lambda: unbootstrap(world.workplace), at)
    prepare_boot(world.workplace)
    outcome = recover(world.workplace)
    assert outcome is not None
    assert outcome.result is Result.LEFT
    assert world.host.snapshot() == before
    assert world.memory() == {"current": None, "desired": Desired.LEFT, "journal": False}
    assert world.cluster.get(NODE_PATH) is None
    assert recall(world.directory, world.resolved().spec.cluster.server) is None  # the next node asks anew
