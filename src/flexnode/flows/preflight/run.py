"""Ask the checks: those of the machine in turn, those of the network at once, all within a bounded time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace

from flexnode.clock import Clock
from flexnode.errors import FlexError, Kind, UsageError
from flexnode.flows.preflight.check import Check, Finding, Level, Operation, error, failed, skipped
from flexnode.flows.preflight.checks import CHECKS
from flexnode.flows.preflight.offline import tell_bundle
from flexnode.flows.preflight.report import Report
from flexnode.flows.preflight.situation import Situation
from flexnode.progress import Progress, Silent

TIME_LIMIT = 60.0
"""How long the checks of the network may take together, in seconds."""


def preflight(
    situation: Situation,
    *,
    checks: Sequence[Check] = CHECKS,
    ignore: Iterable[str] = (),
    fail_on_warnings: bool = False,
    time_limit: float = TIME_LIMIT,
    progress: Progress | None = None,
) -> Report:
    """Ask every check but the ignored ones. Nothing is changed, and nothing is raised for what is found."""
    progress = progress or Silent()
    ignored = set(ignore)
    asked = [check for check in checks if check.name not in ignored]
    with progress.step(f"check {len(asked)} things"):
        remote = _Remote([check for check in asked if check.remote], situation, progress)
        found: dict[str, Sequence[Finding]] = {}
        for check in asked:
            if not check.remote:
                found[check.name] = ask(check, situation)
        found |= remote.collect(situation.clock, time_limit)
    return Report(
        findings=tuple(
            finding
            for check in checks
            for finding in found.get(check.name, (replace(skipped("ignored, as asked"), name=check.name),))
        ),
        strict=fail_on_warnings,
    )


def relevant(operation: Operation, checks: Sequence[Check] = CHECKS) -> tuple[Check, ...]:
    """The checks that an operation asks by itself: what would make it fail, or harm the machine."""
    return tuple(check for check in checks if operation in check.before)


def parse_names(texts: Iterable[str], checks: Sequence[Check] = CHECKS) -> tuple[str, ...]:
    """Check names out of comma-separated lists; one that does not exist is a usage error."""
    known = [check.name for check in checks]
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise UsageError(
                f"there is no check {name!r}", code="usage/unknown-check", hint=_suggest(name, known)
            )
    return tuple(dict.fromkeys(names))


def ask(check: Check, situation: Situation) -> tuple[Finding, ...]:
    """The findings of one check. Whatever it raises is its finding too."""
    findings: list[Finding] = []
    try:
        findings.extend(check.run(situation))
    except FlexError as failure:
        findings.append(failed(failure, hint="see the message; the check could not come to an end"))
    except Exception as defect:  # one broken check must not hide what the others found
        findings.append(
            error(
                "preflight/broken-check",
                f"the check itself failed: {type(defect).__name__}: {defect}",
                hint=f"this is a defect of aks-flex-node: please report it; --ignore {check.name} goes on",
            )
        )
    return tuple(replace(finding, name=check.name) for finding in findings)


class _Remote:
    """Checks that wait for the network, each in a thread of its own.

    The threads are daemons: one that hangs in a system call delays neither the report nor the exit.
    """

    def __init__(self, checks: Sequence[Check], situation: Situation, progress: Progress) -> None:
        self._checks = checks
        self._situation = situation
        self._progress = progress
        self._done: queue.SimpleQueue[tuple[str, tuple[Finding, ...]]] = queue.SimpleQueue()
        for check in checks:
            threading.Thread(
                target=lambda check=check: self._done.put((check.name, ask(check, situation))),
                name=f"preflight-{check.name}",
                daemon=True,
            ).start()

    def collect(self, clock: Clock, time_limit: float) -> dict[str, Sequence[Finding]]:
        """What they found; a check that is not done by then is told as such."""
        deadline = clock.monotonic() + time_limit
        found: dict[str, Sequence[Finding]] = {}
        while len(found) < len(self._checks):
            waiting = [check for check in self._checks if check.name not in found]
            self._progress.note(f"waiting for {', '.join(check.name for check in waiting)}")
            try:
                name, findings = self._done.get(timeout=max(deadline - clock.monotonic(), 0.0))
            except queue.Empty:
                return found | {each.name: (_late(each, time_limit, self._situation),) for each in waiting}
            found[name] = findings
        return found


def _late(check: Check, time_limit: float, situation: Situation) -> Finding:
    return Finding(
        name=check.name,
        level=check.late,
        code="preflight/timeout",
        message=f"no answer within {time_limit:g} s",
        hint="check the network between this machine and the servers it is told to use, then run again;"
        f" where there is none, run {tell_bundle(situation)}",
        kind=Kind.TRANSIENT if check.late is Level.ERROR else None,
    )


def _suggest(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    guess = f"did you mean {close[0]}? " if close else ""
    return f"{guess}`aks-flex-node preflight --list` names them all"
