"""The order of a node is right by construction: what is read is there before its reader, and outlives it."""

from __future__ import annotations

import posixpath

import pytest

from flexnode.components.declare import directory, running_unit, text_file
from flexnode.components.joining import NodeInputs
from flexnode.components.machine import compose_machine
from flexnode.components.node import compose_node
from flexnode.components.ordering import order
from flexnode.generation.generation import compose
from flexnode.resources import Disruption, Phase
from flexnode.resources.state import Owned, Unit
from unit.components.samples import CASES

NODES = pytest.mark.parametrize("inputs", CASES.values(), ids=CASES)

# Directories of any Debian or Ubuntu system, which no component has to make.
STOCK = {
    "/etc",
    "/etc/apt/apt.conf.d",
    "/etc/systemd",
    "/etc/systemd/system",
    "/opt",
    "/usr/local/bin",
    "/usr/local/share/ca-certificates",  # of the package that the component sees to
    "/var/lib",
}


def test_a_unit_comes_after_what_it_reads_whatever_was_said_first() -> None:
    resources = order((running_unit("a.service"), text_file("/etc/a", "", read_by=("a.service",))))
    assert [each.key for each in compose(resources).resources] == ["file:/etc/a", "unit:a.service"]


def test_a_path_comes_after_its_directory() -> None:
    resources = order((text_file("/etc/a/b/c", ""), directory("/etc/a/b"), directory("/etc/a")))
    assert [each.name for each in compose(resources).resources] == ["/etc/a", "/etc/a/b", "/etc/a/b/c"]


def test_the_same_components_in_another_order_say_the_same() -> None:
    """Otherwise a node would get another generation by a mere change of the code's layout."""
    resources = (
        running_unit("a.service", after=("file:/z", "file:/b")),
        text_file("/b", "", read_by=("a.service",)),
        text_file("/z", ""),
    )
    here, there = ({each.key: each for each in order(some)} for some in (resources, reversed(resources)))
    assert here == there


@NODES
def test_every_directory_that_is_written_to_exists_by_then(inputs: NodeInputs) -> None:
    made: set[str] = set()
    for each in compose_node(inputs).resources:
        if each.kind in ("file", "link", "directory"):
            parent = posixpath.dirname(each.name)
            assert parent in STOCK | made, f"nobody makes {parent} for {each.key}"
        if each.kind == "directory":
            made.add(each.name)


@NODES
def test_a_unit_starts_after_everything_that_would_restart_it(inputs: NodeInputs) -> None:
    """A unit that started too early starts twice: seconds on the way to Ready, for each of them."""
    seen: set[str] = set()
    for each in compose_node(inputs).resources:
        late = {f"unit:{unit}" for unit in (*each.restarts, *each.reloads)} & seen
        # The only exception: a password for containerd's proxy joins a machine whose containerd runs already.
        joins = each.phase is Phase.JOINED and late == {"unit:containerd.service"}
        assert not late or joins, f"{each.key} comes after {late}"
        seen.add(each.key)


@NODES
def test_what_restarts_a_unit_says_what_that_costs(inputs: NodeInputs) -> None:
    for each in compose_node(inputs).resources:
        if "kubelet.service" in each.restarts:
            assert each.disruption is Disruption.RESTART_KUBELET
        elif "containerd.service" in each.restarts:
            assert each.disruption is Disruption.RESTART_CONTAINERD
        else:
            assert each.disruption <= Disruption.RELOAD


@NODES
def test_no_change_of_the_baseline_drains_a_node(inputs: NodeInputs) -> None:
    assert max(each.disruption for each in compose_node(inputs).resources) < Disruption.DRAIN


@NODES
def test_an_image_holds_exactly_the_first_part_of_its_nodes(inputs: NodeInputs) -> None:
    """Otherwise the first boot of an image would change what was baked, and restart what runs."""
    node, machine = compose_node(inputs), compose_machine(inputs.machine)
    assert node.baked().resources == machine.resources
    assert node.resources[: len(machine.resources)] == machine.resources
    assert node.needs == machine.needs
    assert {each.phase for each in machine.resources} == {Phase.BAKED}


def test_the_same_node_is_the_same_generation() -> None:
    for inputs in CASES.values():
        assert compose_node(inputs).id == compose_node(inputs).id
    assert len({compose_node(inputs).id for inputs in CASES.values()}) == len(CASES)


@NODES
def test_a_node_leaves_in_an_order_in_which_everything_still_works(inputs: NodeInputs) -> None:
    """The Node object while there are credentials, pods while containerd runs, trees once it is down."""
    left = [each.key for each in reversed(compose_node(inputs).resources)]
    wanted = [
        "owned:node",
        "unit:kubelet.service",
        "owned:pods",
        "owned:kubelet-state",
        "directory:/var/lib/kubelet",
    ]
    assert [key for key in left if key in wanted] == wanted
    wanted = [
        "owned:pods",
        "unit:containerd.service",
        "owned:containerd-state",
        "directory:/var/lib/containerd",
    ]
    assert [key for key in left if key in wanted] == wanted
    # What ends a pod: its shim calls runc, and the plugins that set up its network take it down again.
    for program in ("/usr/local/bin/runc", "/usr/local/bin/containerd-shim-runc-v2", "/opt/cni/bin/bridge"):
        assert left.index("unit:containerd.service") < left.index(f"file:{program}")
    # Chains and tables are taken away by programs that came with the tools.
    for state in ("owned:cni-state", "owned:kubelet-state", "unit:containerd.service"):
        assert left.index(state) < left.index("packages:support-tools")


@NODES
def test_every_unit_runs_now_and_after_a_reboot(inputs: NodeInputs) -> None:
    for each in compose_node(inputs).resources:
        if each.kind == "unit":
            assert each.want in (Unit(enabled=True, active=True), Unit(masked=True))


def test_nothing_that_others_write_is_compared() -> None:
    owned = {each.key for each in compose_node(CASES["default"]).resources if isinstance(each.want, Owned)}
    assert owned == {
        "owned:cni-state",
        "owned:containerd-state",
        "owned:kubelet-state",
        "owned:node",
        "owned:pods",
    }
