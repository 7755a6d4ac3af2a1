"""What the configuration says of the Node object: labels and annotations, which a node may set on itself, and
taints, which it may not.

Written is only what changed in the configuration: what an administrator changed on the Node is theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flexnode.agent.memory import Marked
from flexnode.components.identity import identity_labels
from flexnode.kube.nodes import Node, NodeTaint
from flexnode.model.spec import IdentitySpec, Taint


@dataclass(frozen=True, kw_only=True, slots=True)
class Marks:
    """What to patch onto the Node, None taking a key away; `advice` are commands for an administrator.

    `marked` is to be remembered once the patch was accepted.
    """

    marked: Marked
    labels: Mapping[str, str | None] = field(default_factory=dict)
    annotations: Mapping[str, str | None] = field(default_factory=dict)
    advice: tuple[str, ...] = ()


def compare_marks(node: Node, identity: IdentitySpec, before: Marked) -> Marks:
    """What the Node lacks of what the configuration says now, and said not before."""
    labels = identity_labels(identity)
    annotations = dict(identity.annotations)
    taints = tuple(render_taint(taint) for taint in identity.taints)
    baseline = taints if before.taints is None else before.taints
    advice = _advise(node, taints, baseline)
    return Marks(
        labels=_difference(node.labels, labels, before.labels),
        annotations=_difference(node.annotations, annotations, before.annotations),
        advice=advice,
        # While something is left for an administrator to do, the old taints are what it is compared with.
        marked=Marked(labels=labels, annotations=annotations, taints=baseline if advice else taints),
    )


def render_taint(taint: Taint | NodeTaint) -> str:
    """As kubectl writes it: key=value:Effect."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _difference(
    there: Mapping[str, str], wanted: Mapping[str, str], before: Mapping[str, str] | None
) -> dict[str, str | None]:
    if before == wanted:
        return {}
    said = before or {}
    patch: dict[str, str | None] = {
        key: value for key, value in wanted.items() if said.get(key) != value and there.get(key) != value
    }
    patch.update({key: None for key in said if key not in wanted and key in there})
    return patch


def _advise(node: Node, wanted: Sequence[str], before: Sequence[str]) -> tuple[str, ...]:
    there = [render_taint(taint) for taint in node.taints]
    more = [taint for taint in wanted if taint not in before and taint not in there]
    # One that only changes its value is overwritten, and must not be removed by the same command.
    slots = {_slot(taint) for taint in wanted}
    less = [f"{_slot(taint)}-" for taint in before if taint in there and _slot(taint) not in slots]
    changes = [*more, *less]
    return (f"kubectl taint nodes {node.name} {' '.join(changes)} --overwrite",) if changes else ()


def _slot(taint: str) -> str:
    """key:Effect, of which a Node has one."""
    key, _, effect = taint.partition(":")
    return f"{key.partition('=')[0]}:{effect}"
