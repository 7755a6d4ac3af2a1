"""A node follows its cluster to another address, and keeps the name that it joined with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from flexlab.pki import create_authority
from flexnode.components.layout import CLUSTER_CA, KUBECONFIG, KUBELET
from flexnode.errors import FlexError, exit_code
from flexnode.flows.bootstrap import BootstrapOptions, bootstrap
from flexnode.flows.going_back import rollback
from flexnode.flows.planning import plan_bootstrap
from flexnode.flows.preflight.naming import check_node_name
from flexnode.flows.preflight.own import load_ours
from flexnode.flows.unbootstrap import unbootstrap
from flexnode.generation import Result
from flexnode.resources import Disruption
from unit.flows.preflight.samples import situation
from unit.flows.samples import NODE, NODE_PATH
from unit.flows.world import CATALOG, World
from unit.kube.api_server import ApiServer, refusal, serve


@pytest.fixture
def moved(joined: World) -> Iterator[ApiServer]:
    """The same cluster at another address. Nobody is to ask for anything with the token of long ago."""
    joined.accepted = "000000.0000000000000000"
    with serve(joined.answer, authority=joined.authority) as server:
        yield server


def at(world: World, server: ApiServer, **rest: str) -> dict[str, Any]:
    return {"cluster": {**world.config["cluster"], "server": server.url, **rest}}


def refuses(world: World, **sections: Any) -> FlexError:
    before = world.host.snapshot(times=True)
    with pytest.raises(FlexError) as caught:
        world.bootstrap(**sections)
    assert world.host.writes == []
    assert world.host.snapshot(times=True) == before
    assert not world.directory.journal.exists()
    return caught.value


def test_another_server_reaches_kubelet_by_a_restart_and_the_certificate_is_still_its_own(
    joined: World, moved: ApiServer
) -> None:
    before = joined.host.files.read(KUBECONFIG).decode()
    assert plan_bootstrap(joined.resolved(**at(joined, moved)), joined.workplace).disruption is (
        Disruption.RESTART_KUBELET
    )
    outcome = joined.bootstrap(**at(joined, moved))
    assert (outcome.result, outcome.restarts) == (Result.CONFIRMED, (KUBELET,))
    assert [change.key for change in outcome.changes] == [f"kubeconfig:{KUBECONFIG}"]
    assert joined.host.files.read(KUBECONFIG).decode() == before.replace(joined.server.url, moved.url)
    assert moved.seen
    assert joined.server.seen == []
    assert joined.bootstrap(**at(joined, moved)).result is Result.UNCHANGED


def test_a_first_join_restarts_nothing_for_what_kubelet_has_just_written(world: World) -> None:
    outcome = world.bootstrap()
    assert not [change for change in outcome.changes if change.kind == "kubeconfig"]


def test_going_back_leads_to_the_server_before(joined: World, moved: ApiServer) -> None:
    before = joined.host.files.read(KUBECONFIG)
    joined.bootstrap(**at(joined, moved))
    assert rollback(joined.workplace, seconds=300).result is Result.CONFIRMED
    assert joined.host.files.read(KUBECONFIG) == before


def test_who_has_moved_leaves_by_the_new_way_and_without_a_trace(world: World) -> None:
    pristine = world.host.snapshot()
    world.bootstrap()
    with serve(world.answer, authority=world.authority) as server:
        world.bootstrap(**at(world, server))
        world.server.seen.clear()
        assert unbootstrap(world.workplace).result is Result.LEFT
    assert world.server.seen == []
    assert world.cluster.get(NODE_PATH) is None
    assert world.host.snapshot() == pristine


def test_what_somebody_did_to_the_address_is_put_back(joined: World) -> None:
    before = joined.host.files.read(KUBECONFIG).decode()
    joined.host.files.place(KUBECONFIG, before.replace("127.0.0.1", "192.0.2.1"), mode=0o600)
    outcome = joined.bootstrap()
    assert (outcome.result, outcome.restarts) == (Result.CONFIRMED, (KUBELET,))
    assert joined.host.files.read(KUBECONFIG).decode() == before


def test_a_server_that_does_not_answer_is_refused_before_anything_changes(
    joined: World, moved: ApiServer
) -> None:
    joined.host.writes.clear()
    cluster = {**joined.config["cluster"], "server": "https://127.0.0.1:9"}
    assert refuses(joined, cluster=cluster).transient


def test_a_server_of_another_cluster_is_refused_before_anything_changes(joined: World) -> None:
    """It lets this node in no more than any other stranger."""
    authority = create_authority("kubernetes")
    with serve(lambda _seen: refusal(401, "Unauthorized"), authority=authority) as other:
        assert refuses(joined, **at(joined, other)).code == "kube/tls-untrusted"
        refuses(joined, **at(joined, other, ca=other.ca))


def test_another_authority_reaches_kubelet_by_a_restart(joined: World) -> None:
    """Both for a while, as clusters change theirs; kubelet's file names it by its path."""
    before = joined.host.files.read(KUBECONFIG)
    both = joined.server.ca + create_authority("kubernetes").certificate.decode()
    outcome = joined.bootstrap(cluster={**joined.config["cluster"], "ca": both})
    assert (outcome.result, outcome.restarts) == (Result.CONFIRMED, (KUBELET,))
    assert joined.host.files.read(CLUSTER_CA).decode().count("BEGIN CERTIFICATE") == 2
    assert joined.host.files.read(KUBECONFIG) == before


def test_another_name_is_refused_before_anything_changes(joined: World) -> None:
    """kubelet's certificate is bound to the name: it would be refused by its own cluster."""
    failure = refuses(joined, node={"name": "edge-2"})
    assert (failure.code, exit_code(failure)) == ("join/name-changed", 2)
    assert NODE in failure.message
    assert "unbootstrap" in failure.hint
    with pytest.raises(FlexError) as caught:
        plan_bootstrap(joined.resolved(node={"name": "edge-2"}), joined.workplace)
    assert caught.value.code == "join/name-changed"
    ours = load_ours(joined.directory, joined.host)
    spec = joined.resolved(node={"name": "edge-2"}).spec
    (finding,) = check_node_name(situation(ours=ours, spec=spec))
    assert finding.code == "join/name-changed"


def test_another_name_is_refused_while_the_first_join_is_not_confirmed(world: World) -> None:
    world.broken.add(CATALOG.release_set("1.35").kubernetes)
    resolved = world.resolved()
    outcome = bootstrap(resolved, world.workplace, BootstrapOptions(seconds=30))
    assert outcome.result is Result.UNCONFIRMED
    with pytest.raises(FlexError) as caught:
        world.bootstrap(node={"name": "edge-2"})
    assert caught.value.code == "join/name-changed"


def test_a_machine_that_is_renamed_stays_the_node_that_it_is(joined: World) -> None:
    joined.host.files.place("/proc/sys/kernel/hostname", "renamed\n")
    assert joined.bootstrap().result is Result.UNCHANGED


def test_whoever_has_left_may_come_back_under_another_name(joined: World) -> None:
    unbootstrap(joined.workplace)
    plan = plan_bootstrap(joined.resolved(node={"name": "edge-2"}), joined.workplace)
    assert "unit:kubelet.service" in {change.key for change in plan.changes}
