"""Whoever looks at what would happen changes nothing by it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from flexnode.components.layout import KUBELET
from flexnode.flows.planning import plan_bootstrap, plan_unbootstrap
from flexnode.flows.unbootstrap import unbootstrap
from flexnode.generation import EMPTY_ID
from flexnode.resources import Disruption
from unit.flows.world import TOKEN, World


def files_below(world: World) -> dict[str, tuple[int, bytes]]:
    paths = sorted(path for path in world.folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in paths}


def test_a_plan_for_an_untouched_machine_leaves_no_trace(world: World) -> None:
    """Not even a state directory: the user may have wanted to know whether to use this product at all."""
    resolved = world.resolved()
    before, files = world.host.snapshot(times=True), files_below(world)
    plan = plan_bootstrap(resolved, world.workplace)
    assert len(plan.changes) > 50
    assert plan.current is None
    assert world.host.writes == []
    assert world.host.snapshot(times=True) == before
    assert files_below(world) == files
    assert not world.directory.root.exists()


def test_a_plan_to_leave_an_untouched_machine_is_empty(world: World) -> None:
    plan = plan_unbootstrap(world.workplace)
    assert plan.changes == ()
    assert plan.target == EMPTY_ID
    assert not world.directory.root.exists()


@pytest.mark.parametrize("sections", [{}, {"kubelet": {"maxPods": 42}}, {"versions": {"kubernetes": "1.34"}}])
def test_a_plan_for_a_node_changes_nothing_of_it(joined: World, sections: dict[str, Any]) -> None:
    resolved = joined.resolved(**sections)
    before, files = joined.host.snapshot(times=True), files_below(joined)
    plan_bootstrap(resolved, joined.workplace)
    plan_unbootstrap(joined.workplace)
    assert joined.host.writes == []
    assert joined.host.snapshot(times=True) == before
    assert files_below(joined) == files


def test_a_plan_for_a_node_as_it_is_configured_is_empty_and_asks_nobody(joined: World) -> None:
    assert plan_bootstrap(joined.resolved(), joined.workplace).changes == ()
    assert joined.server.seen == []


def test_a_plan_is_what_bootstrap_then_does(joined: World) -> None:
    plan = plan_bootstrap(joined.resolved(kubelet={"maxPods": 42}), joined.workplace)
    assert plan.restarts == (KUBELET,)
    assert plan.disruption is Disruption.RESTART_KUBELET
    outcome = joined.bootstrap(kubelet={"maxPods": 42})
    assert [change.key for change in outcome.changes] == [change.key for change in plan.changes]
    assert outcome.restarts == plan.restarts


def test_a_plan_to_leave_is_what_unbootstrap_then_does(joined: World) -> None:
    """Nothing goes that was not announced; what lies in a tree of its own goes with that."""
    plan = plan_unbootstrap(joined.workplace)
    outcome = unbootstrap(joined.workplace)
    done = {change.key for change in outcome.changes}
    assert done <= {change.key for change in plan.changes}
    assert f"unit:{KUBELET}" in done


def test_a_plan_holds_no_secret(world: World) -> None:
    plan = plan_bootstrap(world.resolved(), world.workplace)
    assert TOKEN not in msgspec.json.encode(plan).decode()
    assert any("bootstrap-kubelet.conf" in change.key for change in plan.changes)
