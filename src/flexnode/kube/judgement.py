"""Which pods a drain evicts, leaves alone, or is forbidden by: decided before the first eviction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from flexnode.kube.pods import Pod


class Fate(StrEnum):
    """What a drain does with a pod."""

    EVICT = "evict"
    LEAVE = "leave"  # it belongs to the node: a DaemonSet's, or a static one
    FORBID = "forbid"  # the drain may not begin


@dataclass(frozen=True, kw_only=True, slots=True)
class DrainPolicy:
    """What the user allowed explicitly."""

    delete_empty_dir_data: bool = False
    evict_unmanaged: bool = False  # pods that nothing brings back elsewhere


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a drain does with one pod, and why."""

    pod: Pod
    fate: Fate
    reason: str


def judge_pod(pod: Pod, policy: DrainPolicy) -> Verdict:
    """Decide about one pod. A finished one loses nothing, so it forbids nothing."""
    if pod.mirror:
        return Verdict(pod=pod, fate=Fate.LEAVE, reason="a static pod of this node")
    if pod.controller == "DaemonSet":
        return Verdict(pod=pod, fate=Fate.LEAVE, reason="a DaemonSet's pod, which belongs to this node")
    if pod.finished:
        return Verdict(pod=pod, fate=Fate.EVICT, reason="it has finished")
    obstacles = []
    if not pod.controller and not policy.evict_unmanaged:
        obstacles.append("nothing would start it again elsewhere")
    if pod.empty_dirs and not policy.delete_empty_dir_data:
        volumes = ", ".join(pod.empty_dirs)
        obstacles.append(f"the data in its emptyDir {volumes} would be lost")
    if obstacles:
        return Verdict(pod=pod, fate=Fate.FORBID, reason=" and ".join(obstacles))
    return Verdict(
        pod=pod,
        fate=Fate.EVICT,
        reason=f"its {pod.controller} replaces it" if pod.controller else "allowed explicitly",
    )


def judge_pods(pods: Iterable[Pod], policy: DrainPolicy) -> tuple[Verdict, ...]:
    """Decide about all of them, in order of namespace and name."""
    ordered = sorted(pods, key=lambda pod: (pod.namespace, pod.name))
    return tuple(judge_pod(pod, policy) for pod in ordered)
