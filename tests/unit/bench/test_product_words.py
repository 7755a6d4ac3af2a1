"""The benchmark reads what the product writes: neither may change without the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from flexlab.bench.joins import KUBELET_STARTS
from flexlab.bench.second import parse_managed
from flexlab.bench.steps import CHECKS, START, compose_rows, find_begin, find_gaps, parse_steps
from flexnode.cli.plan import plan_data
from flexnode.flows.planning import plan_unbootstrap
from flexnode.flows.unbootstrap import unbootstrap
from unit.flows.world import World, open_world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with open_world(tmp_path) as world:
        yield world


def records(world: World) -> tuple[bytes, bytes]:
    root = world.directory.root
    return (root / "events.jsonl").read_bytes(), (root / "provision.json").read_bytes()


def test_the_records_of_a_join_tell_all_of_its_time(world: World) -> None:
    origin = world.clock.now().timestamp()
    world.bootstrap()
    passed = world.clock.now().timestamp() - origin
    steps = parse_steps(*records(world), origin)
    labels = [row.label for row in compose_rows(steps, least=0.5)]
    for label in (START, CHECKS, "stage", "plan", "verify", "confirm"):
        assert label in labels
    assert find_begin(steps, KUBELET_STARTS) is not None
    assert sum(step.seconds for step in steps) + find_gaps(steps, passed) == pytest.approx(passed)


def test_a_second_join_is_told_by_its_own_records(world: World) -> None:
    world.bootstrap()
    unbootstrap(world.workplace)
    world.clock.sleep(1)
    origin = world.clock.now().timestamp()
    world.bootstrap()
    steps = parse_steps(*records(world), origin)
    assert [step.name for step in steps].count(KUBELET_STARTS) == 1
    assert all(step.begin >= 0 for step in steps)


def test_what_is_managed_is_found_in_the_plan_to_leave(world: World) -> None:
    world.bootstrap()
    managed = parse_managed(json.dumps(plan_data(plan_unbootstrap(world.workplace))))
    assert "/usr/local/bin/kubelet" in managed.paths
    assert {"containerd.service", "kubelet.service"} <= {*managed.units}
    assert all(world.host.files.find(path) for path in managed.paths)
