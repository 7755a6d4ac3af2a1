"""How the node is, in one phase, one word and one sentence, out of all that the agent knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from flexnode.agent.supervise import Mind, Pause, Situation, Task
from flexnode.generation.outcome import Failure


class Phase(StrEnum):
    """What the agent is at."""

    STARTING = "starting"
    WORKING = "working"  # an operation runs
    WAITING = "waiting"  # the goal is unmet; it is tried again
    RESTING = "resting"  # the goal is unmet, and trying again cannot help
    SUPERVISING = "supervising"
    IDLE = "idle"  # the machine left its cluster


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """What looking at the machine and its inputs brought."""

    lost: Failure | None = None  # why the product's own state cannot be used
    invalid: Failure | None = None  # why the configuration is not one
    faults: Mapping[str, str] = field(default_factory=dict)
    given_up: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Assessment:
    """`reason` is the word for the Node's condition FlexNodeHealthy, whose status is `healthy`."""

    phase: Phase
    reason: str
    message: str
    healthy: bool = False
    failure: Failure | None = None
    retry_at: float | None = None


def assess(situation: Situation, mind: Mind, findings: Findings, task: Task) -> Assessment:
    """The gravest comes first: what keeps pods from running, then what keeps the agent from its goal."""
    if task is Task.IDLE:
        message = "this machine left its cluster; `aks-flex-node bootstrap` joins it again"
        return Assessment(phase=Phase.IDLE, reason="Left", message=message)
    if findings.lost is not None:
        return Assessment(
            phase=Phase.RESTING,
            reason="StateUnusable",
            message=findings.lost.message,
            failure=findings.lost,
        )
    joined = situation.joined
    pause = mind.pause or mind.repair_pause
    if pause is not None and (situation.unfinished or not joined):
        reason = "OperationFailed" if joined else "BootstrapFailed"
        return _pausing(reason, pause, pause.failure.message)
    if situation.busy and not joined:
        message = "another operation runs on this machine"
        return Assessment(phase=Phase.WAITING, reason="Busy", message=message)
    if findings.faults:
        return _ill(findings, joined)
    if situation.prepared and not situation.unfinished:
        return _waiting(situation, findings.invalid)
    if findings.invalid is not None:
        said = findings.invalid.message
        message = f"the configuration is not valid, and nothing of it is applied: {said}" if joined else said
        return Assessment(
            phase=Phase.SUPERVISING if joined else Phase.RESTING,
            reason="ConfigurationInvalid",
            message=message,
            failure=findings.invalid,
        )
    if pause is not None:
        reason = "ChangeFailed" if mind.pause else "RepairFailed"
        return _pausing(reason, pause, f"{pause.failure.message}; {_place(situation)}")
    if not joined:
        return Assessment(phase=Phase.WAITING, reason="NotJoined", message="this machine is no node yet")
    return _content(situation, mind)


def _pausing(reason: str, pause: Pause, message: str) -> Assessment:
    return Assessment(
        phase=Phase.RESTING if pause.until is None else Phase.WAITING,
        reason=reason,
        message=message,
        failure=pause.failure,
        retry_at=pause.until,
    )


def _waiting(situation: Situation, invalid: Failure | None) -> Assessment:
    """For a machine that is prepared all that is missing is a cluster."""
    why = f": {invalid.message}" if invalid else ""
    return Assessment(
        phase=Phase.WAITING,
        reason="Prepared",
        message=f"prepared, as generation {situation.current}; waiting for a configuration to join with{why}",
        failure=invalid,
    )


def _ill(findings: Findings, joined: bool) -> Assessment:
    name, fault = next(iter(findings.faults.items()))
    given_up = "; restarting it did not help" if name in findings.given_up else ""
    return Assessment(
        phase=Phase.SUPERVISING if joined else Phase.WAITING,
        reason=f"{name.removesuffix('.service').capitalize()}Unhealthy",
        message=f"{fault}{given_up}",
    )


def _content(situation: Situation, mind: Mind) -> Assessment:
    if mind.drift:
        many = f" and {len(mind.drift) - 1} more" if len(mind.drift) > 1 else ""
        return Assessment(
            phase=Phase.SUPERVISING,
            reason="Drifted",
            message=f"the machine differs from generation {situation.current}: {mind.drift[0]}{many}",
        )
    message = _place(situation)
    return Assessment(phase=Phase.SUPERVISING, reason="AsConfigured", message=message, healthy=True)


def _place(situation: Situation) -> str:
    return f"generation {situation.current} is in place"
