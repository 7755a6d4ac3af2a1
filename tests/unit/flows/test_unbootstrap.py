"""A machine that leaves is what it was before, and its cluster has forgotten it."""

from __future__ import annotations

import pytest

from flexnode.components.layout import KUBECONFIG
from flexnode.errors import ConfigError, FlexError, Kind
from flexnode.flows.findings import recall
from flexnode.flows.unbootstrap import unbootstrap
from flexnode.generation import Desired, Result
from flexnode.model.credentials import Credentials
from flexnode.model.machine import MachineSpec, Proxy
from flexnode.model.spec import NodeSpec
from flexnode.secret import Secret
from unit.flows.samples import NODE, NODE_PATH
from unit.flows.world import World
from unit.kube.samples import pod, pod_path

EMPTY = {"current": None, "desired": Desired.LEFT, "journal": False}


def test_nothing_is_left_of_a_node(world: World) -> None:
    before = world.host.snapshot()
    world.bootstrap()
    outcome = unbootstrap(world.workplace)
    assert outcome.result is Result.LEFT
    assert outcome.reservations == outcome.kept == ()
    assert world.host.snapshot() == before
    assert world.cluster.get(NODE_PATH) is None
    assert world.memory() == EMPTY
    assert world.books.open == []


def test_pods_are_moved_before_their_node_goes(joined: World) -> None:
    joined.cluster.put(pod_path(), pod(node=NODE))
    unbootstrap(joined.workplace)
    assert joined.cluster.get(pod_path()) is None
    assert f"drain {NODE}: done" in joined.books.told


def test_it_needs_neither_configuration_nor_files(joined: World) -> None:
    """Both may be broken or gone by then; kubelet's own kubeconfig says where the cluster is."""
    joined.mirror.rename(joined.folder / "elsewhere")
    joined.overlay.unlink()
    (joined.folder / "etc" / "config.json").write_text("{ broken")
    assert unbootstrap(joined.workplace).result is Result.LEFT


def test_what_the_cluster_once_told_is_forgotten(joined: World) -> None:
    """The machine may join another cluster next, or this one with other settings."""
    assert recall(joined.directory, joined.server.url) is not None
    unbootstrap(joined.workplace)
    assert recall(joined.directory, joined.server.url) is None


def test_a_machine_that_is_no_node_is_left_as_it_is(world: World) -> None:
    before = world.host.snapshot(times=True)
    outcome = unbootstrap(world.workplace)
    assert outcome.result is Result.UNCHANGED
    assert world.host.snapshot(times=True) == before
    assert world.host.writes == []


def test_leaving_twice_is_leaving_once(joined: World) -> None:
    unbootstrap(joined.workplace)
    joined.host.writes.clear()
    assert unbootstrap(joined.workplace).result is Result.UNCHANGED
    assert joined.host.writes == []


def test_a_machine_that_never_got_in_leaves_without_its_cluster(world: World) -> None:
    before = world.host.snapshot()
    world.host.hook = lambda moment: setattr(world, "accepted", "revoked") if "kubelet" in moment else None
    assert world.bootstrap().result is Result.UNCONFIRMED
    world.host.hook = lambda _moment: None
    world.server.seen.clear()
    assert unbootstrap(world.workplace).result is Result.LEFT
    assert world.server.seen == []
    assert world.host.snapshot() == before


def test_an_api_server_that_is_down_keeps_the_node_whole(joined: World) -> None:
    """Nothing of it is taken apart that would be needed to leave properly a minute later."""
    joined.api_down = True
    before = joined.host.snapshot()
    with pytest.raises(FlexError) as caught:
        unbootstrap(joined.workplace)
    assert caught.value.kind is Kind.TRANSIENT
    assert "--force" in caught.value.hint
    assert joined.host.snapshot() == before
    assert joined.books.open == []
    joined.api_down = False
    assert unbootstrap(joined.workplace).result is Result.LEFT


def test_forced_it_leaves_without_its_cluster_and_says_what_stays_there(world: World) -> None:
    before = world.host.snapshot()
    world.bootstrap()
    world.api_down = True
    outcome = unbootstrap(world.workplace, force=True)
    assert outcome.result is Result.LEFT
    assert f"kubectl delete node {NODE}" in "\n".join(outcome.reservations)
    assert world.host.snapshot() == before
    assert world.memory() == EMPTY


def test_a_budget_is_respected_and_overridden_by_force_only(joined: World) -> None:
    joined.cluster.put(pod_path(), pod(node=NODE))
    joined.cluster.budgets["default/web-1"] = "web-budget"
    started = joined.clock.monotonic()
    with pytest.raises(FlexError) as caught:
        unbootstrap(joined.workplace)
    assert caught.value.code == "drain/timeout"
    assert "web-budget" in caught.value.message
    assert joined.clock.monotonic() - started < 400
    assert joined.cluster.get(NODE_PATH) is not None
    outcome = unbootstrap(joined.workplace, force=True)
    assert outcome.result is Result.LEFT
    assert "web-budget" in "\n".join(outcome.reservations)


def test_what_the_user_edited_is_kept(joined: World) -> None:
    path = "/etc/containerd/config.toml"
    joined.host.files.place(path, "mine = true\n")
    outcome = unbootstrap(joined.workplace)
    assert outcome.result is Result.LEFT
    assert outcome.kept == (path,)
    assert joined.host.files.read(path) == b"mine = true\n"


def test_a_machine_that_left_stays_idle(joined: World) -> None:
    """Whoever starts the agent again, or the machine, does not bring the node back."""
    unbootstrap(joined.workplace)
    state = joined.directory.load_state().value
    assert state is not None
    assert state.desired is Desired.LEFT


@pytest.mark.parametrize("name", ["state.json", "cluster.json", "packages.json", "provision.json"])
def test_damage_to_what_is_kept_keeps_nobody_from_leaving(world: World, name: str) -> None:
    """Row 29."""
    before = world.host.snapshot()
    world.bootstrap()
    (world.directory.root / name).write_bytes(b"\0" * 100)
    outcome = unbootstrap(world.workplace)
    assert outcome.result is Result.LEFT
    assert world.host.snapshot() == before


class Lost(Secret):
    """A secret in a file that is not there any more."""

    def reveal(self) -> str:
        raise ConfigError("the secret in /etc/proxy cannot be read", code="config/secret-unreadable")


def test_a_proxy_whose_password_is_lost_keeps_nobody_from_leaving(joined: World) -> None:
    """The configuration helps where it can, and is in nobody's way where it cannot."""
    spec = NodeSpec(credentials=Credentials(https_proxy=Lost("file:/etc/proxy")))
    assert unbootstrap(joined.workplace, spec=spec).result is Result.LEFT


def test_the_way_to_the_cluster_is_that_of_the_configuration(joined: World) -> None:
    """A cluster behind a proxy is reached by it, or not at all."""
    kubeconfig = joined.host.files.read(KUBECONFIG).decode()
    joined.host.files.place(KUBECONFIG, kubeconfig.replace(joined.server.url, "https://192.0.2.1:6443"))
    proxy = MachineSpec(proxy=Proxy(https="http://127.0.0.1:9"))
    with pytest.raises(FlexError) as caught:
        unbootstrap(joined.workplace, spec=NodeSpec(machine=proxy))
    assert caught.value.code == "kube/proxy"
    assert joined.server.seen == []
