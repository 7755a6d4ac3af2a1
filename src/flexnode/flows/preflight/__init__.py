"""Named checks that change nothing: whether this machine can become the node that is wanted of it."""

from flexnode.flows.preflight.check import Check, Finding, Level, Operation
from flexnode.flows.preflight.checks import CHECKS
from flexnode.flows.preflight.report import Report, require_passed
from flexnode.flows.preflight.run import parse_names, preflight, relevant
from flexnode.flows.preflight.situation import Ours, Situation

__all__ = [
    "CHECKS",
    "Check",
    "Finding",
    "Level",
    "Operation",
    "Ours",
    "Report",
    "Situation",
    "parse_names",
    "preflight",
    "relevant",
    "require_passed",
]
