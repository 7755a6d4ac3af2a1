"""A node as a value, and the only code that changes a machine."""

from flexnode.generation.activate import Activation
from flexnode.generation.apply import Stopped
from flexnode.generation.contents import StoredContents
from flexnode.generation.course import Ending
from flexnode.generation.deadline import Deadline
from flexnode.generation.directory import DEFAULT_ROOT, StateDirectory
from flexnode.generation.generation import EMPTY_ID, Generation, Need, compose
from flexnode.generation.ledger import DiskLedger, NoLedger
from flexnode.generation.lock import find_holder
from flexnode.generation.node_state import Desired, NodeState, Rejection
from flexnode.generation.order import Evacuation, Verify
from flexnode.generation.outcome import Failure, Outcome, Result
from flexnode.generation.plan import Plan
from flexnode.generation.recover import needs_recovery
from flexnode.generation.stage import Fetch, fetch_nothing
from flexnode.generation.steps import Moment, Name, Observer, Timing

__all__ = [
    "DEFAULT_ROOT",
    "EMPTY_ID",
    "Activation",
    "Deadline",
    "Desired",
    "DiskLedger",
    "Ending",
    "Evacuation",
    "Failure",
    "Fetch",
    "Generation",
    "Moment",
    "Name",
    "Need",
    "NoLedger",
    "NodeState",
    "Observer",
    "Outcome",
    "Plan",
    "Rejection",
    "Result",
    "StateDirectory",
    "Stopped",
    "StoredContents",
    "Timing",
    "Verify",
    "compose",
    "fetch_nothing",
    "find_holder",
    "needs_recovery",
]
