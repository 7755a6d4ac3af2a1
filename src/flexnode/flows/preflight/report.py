"""What the checks found, together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flexnode.errors import FlexError, Kind
from flexnode.flows.preflight.check import Finding, Level


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """Every finding, in the order of the checks. `strict`: warnings count as errors."""

    findings: tuple[Finding, ...]
    strict: bool = False

    def at(self, level: Level) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.level is level)

    @property
    def objections(self) -> tuple[Finding, ...]:
        """What speaks against going on."""
        return self.at(Level.ERROR) + (self.at(Level.WARNING) if self.strict else ())

    @property
    def passed(self) -> bool:
        return not self.objections

    @property
    def transient(self) -> bool:
        """Whether everything that speaks against going on may pass by itself."""
        return not self.passed and all(finding.kind is Kind.TRANSIENT for finding in self.objections)


def require_passed(report: Report) -> None:
    """Raise one error that tells all objections: under their own code, where they are of one kind."""
    objections = report.objections
    if not objections:
        return
    codes = {finding.code for finding in objections}
    hints = dict.fromkeys(finding.hint for finding in objections if finding.hint)
    pauses = [finding.retry_after for finding in objections if finding.retry_after is not None]
    raise FlexError(
        _tell(objections),
        code=codes.pop() if len(codes) == 1 else "preflight/failed",
        transient=report.transient,
        hint="; ".join(hints),
        retry_after=max(pauses, default=None),
    )


def _tell(objections: Sequence[Finding]) -> str:
    if len(objections) == 1:
        return objections[0].message
    lines = [f"  {finding.name}: {finding.message}" for finding in objections]
    return "\n".join([f"{len(objections)} checks speak against going on:", *lines])
