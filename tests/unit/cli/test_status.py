"""What people and scripts see of a node."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from flexnode.cli.ending import run
from flexnode.cli.root import root
from flexnode.cli.status import render_status
from flexnode.flows.status import (
    AgentStatus,
    Fault,
    Holder,
    LastOperation,
    NodeStatus,
    Provision,
    Rejected,
    State,
    Timing,
)
from flexnode.generation import Plan
from flexnode.resources import Change
from flexnode.resources.state import Absent, File, Text

WHEN = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
AGENT = AgentStatus(
    version="0.1.0",
    pid=77,
    started=WHEN,
    updated=WHEN,
    phase="supervising",
    reason="AsConfigured",
    message="generation g2 is in place",
    healthy=True,
    node="edge1",
    generation="g2",
    desired="joined",
    checked=WHEN,
)
STATE = State(current="g2", previous="g1", desired="joined")
NODE = NodeStatus(agent=AGENT, agent_runs=True, state=STATE)


def lines(found: NodeStatus, plan: Plan | None = None) -> dict[str, str]:
    """What stands behind each word; what follows below belongs to it."""
    told: dict[str, str] = {}
    word = ""
    for line in render_status(found, plan).splitlines():
        word = line[:12].strip() or word
        told[word] = f"{told[word]}\n{line[12:]}" if word in told else line[12:]
    return told


def test_a_node_at_rest() -> None:
    told = lines(NODE)
    assert told["node"] == "edge1, generation g2"
    assert told["previous"].startswith("generation g1;")
    assert told["agent"].splitlines() == [
        "supervising: generation g2 is in place",
        "version 0.1.0, process 77, as of 2026-01-01 12:00:00 UTC",
    ]
    assert told["drift"] == "none, compared at 2026-01-01 12:00:00 UTC"


def test_a_failure_comes_with_its_code_its_remedy_and_the_next_try() -> None:
    failure = Fault(code="join/no-certificate", kind="transient", message="no certificate", hint="see csr")
    agent = msgspec.structs.replace(AGENT, failure=failure, retry_at=WHEN + timedelta(minutes=5))
    told = lines(msgspec.structs.replace(NODE, agent=agent))
    assert told["failure"].splitlines() == [
        "join/no-certificate (transient): no certificate",
        "next: see csr",
        "tried again at 2026-01-01 12:05:00 UTC",
    ]


def test_drift_illness_and_what_an_administrator_has_to_do_are_told() -> None:
    agent = msgspec.structs.replace(
        AGENT,
        drift=("file:/etc/x", "unit:y.service"),
        faults={"kubelet.service": "kubelet does not answer"},
        needs="drain",
        advice=("kubectl taint nodes edge1 a:NoSchedule --overwrite",),
    )
    told = lines(msgspec.structs.replace(NODE, agent=agent))
    assert told["drift"].startswith("file:/etc/x, unit:y.service")
    assert told["health"] == "kubelet does not answer"
    assert "needs a drain" in told["waiting"]
    assert told["to do"].startswith("kubectl taint")


def test_a_prepared_machine_is_not_called_joined() -> None:
    agent = msgspec.structs.replace(AGENT, node="", prepared=True)
    told = lines(NodeStatus(agent=agent, state=STATE, prepared=True))
    assert told["node"] == "prepared, in no cluster yet, generation g2"
    assert lines(NodeStatus(agent=agent))["node"] == told["node"], "what a user sees who is not root"


def test_no_way_back_is_offered_that_would_be_refused() -> None:
    assert "previous" not in lines(NodeStatus(state=STATE, can_roll_back=False))


def test_a_node_without_pods_says_whose_cordon_it_is() -> None:
    told = lines(NodeStatus(state=msgspec.structs.replace(STATE, cordoned=True), agent_runs=False))
    assert told["cordoned"].startswith("for a change")


def test_without_an_agent_it_still_says_what_the_machine_is() -> None:
    told = lines(NodeStatus(state=STATE, agent_runs=False))
    assert told["node"] == "joined, generation g2"
    assert told["agent"].startswith("does not run")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (State(desired="left"), "this machine left its cluster"),
        (State(desired="left", current="g2"), "this machine is leaving its cluster"),
        (None, "this machine is no node"),
    ],
)
def test_what_is_no_node_is_not_called_one(state: State | None, words: str) -> None:
    assert lines(NodeStatus(state=state, agent_runs=False))["node"] == words


def test_what_runs_now_and_what_was_cut_off() -> None:
    busy = Holder(pid=5, operation="upgrade", since=WHEN)
    assert "upgrade, process 5" in lines(NodeStatus(busy=busy, unfinished=True))["running"]
    assert "recover" in lines(NodeStatus(unfinished=True))["unfinished"]


def test_the_past_with_its_times() -> None:
    timings = (Timing(name="apply", key="a", seconds=1.5), Timing(name="apply", key="b", seconds=2.0))
    provision = Provision(
        result="unconfirmed",
        started=WHEN,
        ended=WHEN + timedelta(seconds=9),
        code="node/not-ready",
        message="not yet",
        timings=timings,
    )
    last = LastOperation(operation="repair", started=WHEN, ended=WHEN, outcome="failed", step="verify")
    rejected = {"g3": Rejected(reason="it crashed", when=WHEN)}
    told = lines(NodeStatus(provision=provision, last=last, state=State(rejected=rejected)))
    assert told["bootstrap"].splitlines() == [
        "unconfirmed, 2026-01-01 12:00:09 UTC, 9.0 s",
        "node/not-ready: not yet",
        "apply 3.5 s",
    ]
    assert told["last"].startswith("repair, failed at verify, ")
    assert told["rejected"] == "generation g3, 2026-01-01 12:00:00 UTC: it crashed"


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ({"result": "confirmed", "outcome": "end", "step": "collect"}, "repair, confirmed, 2026"),
        (
            {"result": "degraded", "outcome": "failed", "step": "verify"},
            "repair, degraded, failed at verify, 2",
        ),
        ({"result": "failed", "outcome": "failed", "step": "stage"}, "repair, failed at stage, 2026"),
        ({"result": "failed", "outcome": "", "step": ""}, "repair, failed, 2026"),
        ({"outcome": "end", "step": "apply"}, "repair, 2026"),
    ],
)
def test_the_last_operation_is_told_with_its_result(ended: dict[str, str], words: str) -> None:
    last = LastOperation(operation="repair", started=WHEN, ended=WHEN, **ended)
    assert lines(NodeStatus(last=last))["last"].startswith(words)


def test_what_was_compared_just_now_goes_before_what_the_agent_saw() -> None:
    change = Change(key="file:/etc/x", before=Absent(), after=File(content=Text(text="")))
    assert lines(NODE, Plan(target="g2", changes=(change,)))["drift"] == "file:/etc/x"
    assert lines(NODE, Plan(target="g2"))["drift"] == "none, compared just now"


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, "aks-flex-node", ["status", "--output", "json"]) == 0
    assert isinstance(msgspec.json.decode(capsys.readouterr().out), dict)
