"""How far the agent is from a bare start, and where."""

from __future__ import annotations

import pytest

from flexlab.bench.bench import Joined
from flexlab.bench.joins import DISTANCE, compose_distance
from flexlab.bench.steps import BETWEEN, Step

JOINED = Joined(
    seconds=12.0,
    steps=(
        Step(name="the program starts", begin=0.0, end=1.0),
        Step(name="stage", begin=1.0, end=1.5),
        Step(name="apply file:/etc/x", begin=2.0, end=2.25),
        Step(name="apply unit:kubelet.service", begin=3.0, end=4.0),
        Step(name="verify", begin=4.0, end=30.0),
    ),
)


def test_the_steps_and_kubelets_own_time_add_up_to_the_distance() -> None:
    figures = {each.name: each for each in compose_distance(JOINED, 7.0)}
    assert figures[DISTANCE].value == pytest.approx(5.0)
    of_it = sum(each.value for name, each in figures.items() if name.startswith("  of it"))
    kubelet = figures["  kubelet start to Ready, by the agent"]
    assert (kubelet.value, kubelet.reference) == (9.0, 7.0)
    assert of_it + kubelet.value == pytest.approx(12.0)
    assert figures[f"  of it: {BETWEEN}"].value == pytest.approx(1.25)
    assert "  of it: verify" not in figures, "what kubelet is waited for is kubelet's time"
