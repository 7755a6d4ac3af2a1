"""What the configuration says of the Node is said to the cluster, and what others said stays."""

from __future__ import annotations

import pytest

from flexnode.agent.marks import compare_marks
from flexnode.agent.memory import Marked
from flexnode.kube.nodes import Node, NodeTaint
from flexnode.model.spec import Effect, IdentitySpec, Taint

GPU = Taint(key="example.com/gpu", effect=Effect.NO_SCHEDULE)
SAID = Marked(labels={}, annotations={}, taints=())


def node(*taints: NodeTaint, **labels: str) -> Node:
    return Node(name="edge1", labels=labels, taints=taints)


def test_on_the_first_day_what_is_missing_is_set() -> None:
    identity = IdentitySpec(labels={"a": "1", "b": "2"}, annotations={"n": "x"}, region="west")
    marks = compare_marks(node(a="1", theirs="9"), identity, Marked())
    assert marks.labels == {"b": "2", "topology.kubernetes.io/region": "west"}
    assert marks.annotations == {"n": "x"}


def test_what_an_administrator_changed_since_is_theirs() -> None:
    identity = IdentitySpec(labels={"a": "1"})
    assert compare_marks(node(a="7"), identity, Marked(labels={"a": "1"}, annotations={})).labels == {}


def test_only_what_changed_in_the_configuration_is_changed() -> None:
    before = Marked(labels={"a": "1", "b": "1", "gone": "1"}, annotations={}, taints=())
    identity = IdentitySpec(labels={"a": "1", "b": "2"})
    marks = compare_marks(node(a="theirs", b="1", gone="1", other="1"), identity, before)
    assert marks.labels == {"b": "2", "gone": None}
    assert marks.marked.labels == {"a": "1", "b": "2"}


def test_a_taint_that_kubelet_registered_with_may_be_taken_away_by_others() -> None:
    """A network plugin removes the taint of a node that has become usable."""
    marks = compare_marks(node(), IdentitySpec(taints=(GPU,)), Marked())
    assert marks.advice == ()


@pytest.mark.parametrize(
    ("there", "before", "wanted", "words"),
    [
        ((), (), (GPU,), "example.com/gpu:NoSchedule"),
        (
            (NodeTaint(key="example.com/gpu", effect="NoSchedule"),),
            ("example.com/gpu:NoSchedule",),
            (),
            "example.com/gpu:NoSchedule-",
        ),
        (
            (NodeTaint(key="k", value="1", effect="NoExecute"),),
            ("k=1:NoExecute",),
            (Taint(key="k", value="2", effect=Effect.NO_EXECUTE),),
            "k=2:NoExecute",
        ),
    ],
)
def test_the_command_for_a_changed_taint_is_told_until_it_was_given(
    there: tuple[NodeTaint, ...], before: tuple[str, ...], wanted: tuple[Taint, ...], words: str
) -> None:
    said = Marked(labels={}, annotations={}, taints=before)
    identity = IdentitySpec(taints=wanted)
    marks = compare_marks(node(*there), identity, said)
    assert marks.advice == (f"kubectl taint nodes edge1 {words} --overwrite",)
    assert compare_marks(node(*there), identity, marks.marked).advice == marks.advice
    done = tuple(NodeTaint(key=each.key, value=each.value, effect=each.effect) for each in wanted)
    after = compare_marks(node(*done), identity, marks.marked)
    assert after.advice == ()
    assert compare_marks(node(), identity, after.marked).advice == ()
