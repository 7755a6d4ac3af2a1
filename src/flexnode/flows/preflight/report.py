"""What the checks found, together."""

from __future__ import annotations

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
    """Raise one error that tells all objections; with a single one, under its own code."""
    objections = report.objections
    if not objections:
        return
    if len(objections) == 1:
        (only,) = objections
        raise FlexError(only.message, code=only.code, transient=report.transient, hint=only.hint)
    lines = [f"  {finding.name}: {finding.message}" for finding in objections]
    hints = dict.fromkeys(finding.hint for finding in objections if finding.hint)
    raise FlexError(
        "\n".join([f"{len(objections)} checks speak against going on:", *lines]),
        code="preflight/failed",
        transient=report.transient,
        hint="; ".join(hints),
    )
