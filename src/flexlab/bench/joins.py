"""Three ways into the cluster, in turns on one machine: a bare kubelet start, `kubeadm join`, and the agent.

For each of them the machine has booted, its programs are installed, containerd runs and the images are
loaded: what is measured is the join.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

from flexlab import handmade, node_agent
from flexlab.bench.bench import PROVISION, Bench, Joined, Subject, open_subject
from flexlab.bench.report import Measurement
from flexlab.bench.steps import BETWEEN, compose_rows, cut, find_begin, find_gaps
from flexnode.cli.output import RESERVATION
from flexnode.components.layout import KUBELET

BARE = "static units, kubelet start to Ready"
KUBEADM = "kubeadm join to Ready"
AGENT = "agent, bootstrap to Ready"
DISTANCE = "agent, bootstrap beyond a bare start"

KUBELET_STARTS = f"apply unit:{KUBELET}"
"""The step with which the agent does what is all of a bare start."""

STOCK, BY_HAND, BY_AGENT = "stock", "staged-by-hand", "staged-by-agent"

LEAST = 0.3
"""Seconds. A change that took longer has a row of its own."""


def measure_joins(bench: Bench) -> Iterator[Measurement]:
    bare, kubeadm, agent = [], [], []
    with open_subject(bench, "join") as subject:
        _stage(subject)
        for number in range(1, bench.rounds + 1):
            subject.return_to(BY_HAND)
            bare.append(subject.time(f"bare start, round {number}", _start_bare(subject)))
            subject.return_to(BY_HAND)
            kubeadm.append(subject.time(f"kubeadm join, round {number}", _join_with_kubeadm(subject)))
            subject.return_to(BY_AGENT)
            # In the background: `bootstrap` itself goes on to watch the node after it is Ready.
            command = "systemd-run --quiet --collect aks-flex-node bootstrap"
            agent.append(subject.join(f"bootstrap, round {number}", command))
    start, join = statistics.median(bare), statistics.median(kubeadm)
    ready = statistics.median(each.seconds for each in agent)
    yield Measurement(name=BARE, value=start, unit="s")
    yield Measurement(name=KUBEADM, value=join, unit="s", compared_with=BARE, reference=start)
    yield Measurement(name=AGENT, value=ready, unit="s", compared_with=KUBEADM, reference=join, bar=True)
    yield from compose_distance(_find_median(agent), start)


def compose_distance(joined: Joined, bare: float) -> Iterator[Measurement]:
    """Where the time goes that a bare start does not take: the steps before kubelet starts, and its own."""
    yield Measurement(name=DISTANCE, value=joined.seconds - bare, unit="s")
    kubelet = find_begin(joined.steps, KUBELET_STARTS)
    before = joined.seconds if kubelet is None else min(kubelet, joined.seconds)
    steps = cut(joined.steps, before)
    for row in compose_rows(steps, least=LEAST):
        yield Measurement(name=f"  of it: {row.label}", value=row.seconds, unit="s")
    yield Measurement(name=f"  of it: {BETWEEN}", value=find_gaps(steps, before), unit="s")
    yield Measurement(
        name="  kubelet start to Ready, by the agent",
        value=joined.seconds - before,
        unit="s",
        compared_with=BARE,
        reference=bare,
    )


def _stage(subject: Subject) -> None:
    progress = subject.bench.progress
    subject.remember(STOCK)
    with progress.step("stage a node by hand"):
        handmade.install(subject.bench.lab, subject.node, subject.parts)
    subject.remember(BY_HAND)
    subject.return_to(STOCK)
    with progress.step("stage a node with the agent"):
        node_agent.prepare(subject.terminal, subject.parts)
        subject.run("aks-flex-node bootstrap --prepare", expect=(0, RESERVATION))
        subject.run(f"rm -f {PROVISION}")  # so that the next one to appear tells of the join
    subject.remember(BY_AGENT)


def _start_bare(subject: Subject) -> Callable[[], None]:
    def start() -> None:
        handmade.start_node_services(subject.bench.lab, subject.node, now=True)
        subject.wait_until_ready()

    return start


def _join_with_kubeadm(subject: Subject) -> Callable[[], None]:
    def join() -> None:
        handmade.kubeadm_join(subject.bench.lab, subject.node)
        subject.wait_until_ready()

    return join


def _find_median(joins: list[Joined]) -> Joined:
    """The one in the middle, so that its steps add up to what is told of it."""
    return sorted(joins, key=lambda each: each.seconds)[(len(joins) - 1) // 2]
