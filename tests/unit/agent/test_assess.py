"""One word and one sentence on the node: the gravest of what is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flexnode.agent.assess import Findings, Phase, assess
from flexnode.agent.supervise import Mind, Pause, Situation, Task
from flexnode.components.layout import KUBELET
from flexnode.errors import Kind
from flexnode.generation import Failure

FAILURE = Failure(code="x/y", kind=Kind.TRANSIENT, message="it failed")
SOON = Pause(failure=FAILURE, stamp="s", until=10.0)
NEVER = Pause(failure=FAILURE, stamp="s")
NEW = Situation(config="c", stamp="s")
NODE = replace(NEW, current="g")
PREPARED = replace(NODE, prepared=True)
WELL = Findings()
ILL = Findings(faults={KUBELET: "kubelet does not answer"}, given_up=(KUBELET,))
INVALID = Findings(invalid=FAILURE)


@pytest.mark.parametrize(
    ("situation", "mind", "findings", "task", "phase", "reason", "healthy"),
    [
        (NEW, Mind(), WELL, Task.IDLE, Phase.IDLE, "Left", False),
        (NEW, Mind(), WELL, Task.WAIT, Phase.WAITING, "NotJoined", False),
        (NEW, Mind(pause=SOON), WELL, Task.WAIT, Phase.WAITING, "BootstrapFailed", False),
        (NEW, Mind(pause=NEVER), WELL, Task.WAIT, Phase.RESTING, "BootstrapFailed", False),
        (replace(NEW, busy=True), Mind(), WELL, Task.WAIT, Phase.WAITING, "Busy", False),
        (NEW, Mind(), INVALID, Task.WAIT, Phase.RESTING, "ConfigurationInvalid", False),
        (PREPARED, Mind(), INVALID, Task.WAIT, Phase.WAITING, "Prepared", False),
        (PREPARED, Mind(pause=SOON), WELL, Task.WAIT, Phase.WAITING, "BootstrapFailed", False),
        (replace(PREPARED, busy=True), Mind(), WELL, Task.WAIT, Phase.WAITING, "Busy", False),
        (NODE, Mind(), WELL, Task.WAIT, Phase.SUPERVISING, "AsConfigured", True),
        (replace(NODE, busy=True), Mind(), WELL, Task.WAIT, Phase.SUPERVISING, "AsConfigured", True),
        (NODE, Mind(drift=("file:/x",)), WELL, Task.WAIT, Phase.SUPERVISING, "Drifted", False),
        (NODE, Mind(pause=NEVER), WELL, Task.WAIT, Phase.RESTING, "ChangeFailed", False),
        (NODE, Mind(repair_pause=SOON), WELL, Task.WAIT, Phase.WAITING, "RepairFailed", False),
        (NODE, Mind(), INVALID, Task.WAIT, Phase.SUPERVISING, "ConfigurationInvalid", False),
        (NODE, Mind(pause=NEVER), ILL, Task.WAIT, Phase.SUPERVISING, "KubeletUnhealthy", False),
        (
            replace(NODE, unfinished=True),
            Mind(pause=SOON),
            ILL,
            Task.WAIT,
            Phase.WAITING,
            "OperationFailed",
            False,
        ),
        (NODE, Mind(), Findings(lost=FAILURE), Task.WAIT, Phase.RESTING, "StateUnusable", False),
    ],
)
def test_the_gravest_is_told(
    situation: Situation,
    mind: Mind,
    findings: Findings,
    task: Task,
    phase: Phase,
    reason: str,
    healthy: bool,
) -> None:
    found = assess(situation, mind, findings, task)
    assert (found.phase, found.reason, found.healthy) == (phase, reason, healthy)
    assert found.message


def test_it_says_what_would_help() -> None:
    assert "bootstrap" in assess(NEW, Mind(), WELL, Task.IDLE).message
    assert "did not help" in assess(NODE, Mind(), ILL, Task.WAIT).message
    assert "and 1 more" in assess(NODE, Mind(drift=("file:/x", "file:/y")), WELL, Task.WAIT).message
    assert assess(NEW, Mind(pause=SOON), WELL, Task.WAIT).retry_at == 10.0
