"""`aks-flex-node preflight`: can this machine become the node that is configured?"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from flexnode.cli.config import ConfigChoice, config_options
from flexnode.cli.output import TRANSIENT, emit, verb_options
from flexnode.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flexnode.flows.preflight import Check, Finding, Report

COLOURS = {"ok": "green", "warning": "yellow", "error": "red", "skipped": "bright_black"}
NARROWEST = 60
WIDEST = 120


@click.command()
@click.option(
    "--ignore",
    metavar="NAME,…",
    multiple=True,
    help="Checks to leave out; their names are those of --list.",
)
@click.option("--prepare", is_flag=True, help="Only what `bootstrap --prepare` asks: nothing of a cluster.")
@click.option("--fail-on-warnings", is_flag=True, help="Take warnings for errors.")
@click.option("--list", "listing", is_flag=True, help="Name every check and what it looks at; ask nothing.")
@config_options
@verb_options
def preflight(
    ignore: tuple[str, ...],
    prepare: bool,
    fail_on_warnings: bool,
    listing: bool,
    config: ConfigChoice,
    output: str,
) -> int:
    """Check whether this machine can become a node, or stay one. Nothing is changed.

    Every finding has a name, and where something is wrong it says what to do. Exit code 0: nothing speaks
    against it; 1: something does; 75: something does that may pass by itself.
    """
    from flexnode.flows.preflight import CHECKS, parse_names

    ignored = parse_names(ignore)
    if listing:
        emit(output, text=render_list(CHECKS), data={"checks": [_check_data(check) for check in CHECKS]})
        return 0
    report = _run(config, ignored, prepare, fail_on_warnings)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    emit(output, text=render_report(report, width=width), data=report_data(report))
    return find_exit_code(report)


def find_exit_code(report: Report) -> int:
    if report.passed:
        return 0
    return TRANSIENT if report.transient else 1


def render_report(report: Report, *, width: int = 0) -> str:
    """A line for each finding, its remedy below it, and the counts; wrapped to `width`, 0 for not at all."""
    column = max((len(finding.name) for finding in report.findings), default=0) + 2
    lines = [line for finding in report.findings for line in _render(finding, column, width)]
    return "\n".join([*lines, _render_counts(report)])


def render_list(checks: Sequence[Check]) -> str:
    column = max(len(check.name) for check in checks) + 2
    return "\n".join(f"{check.name:<{column}}{check.title}" for check in checks)


def report_data(report: Report) -> dict[str, Any]:
    """The report as JSON: the same words, to be matched by code."""
    return {
        "passed": report.passed,
        "transient": report.transient,
        "counts": _count(report),
        "findings": [
            {
                "name": finding.name,
                "level": finding.level.value,
                "message": finding.message,
                "hint": finding.hint,
                "code": finding.code,
                "kind": finding.kind.value if finding.kind else None,
            }
            for finding in report.findings
        ],
    }


def _run(config: ConfigChoice, ignored: tuple[str, ...], prepare: bool, fail_on_warnings: bool) -> Report:
    from flexnode.cli.progress import open_progress
    from flexnode.config import find_config
    from flexnode.flows.preflight import CHECKS, Operation, relevant
    from flexnode.flows.preflight import preflight as check_machine
    from flexnode.flows.preflight.survey import Machine, survey
    from flexnode.flows.target import leave_out_cluster
    from flexnode.generation.digest_memory import recall_digests
    from flexnode.generation.directory import StateDirectory
    from flexnode.host import LiveHost
    from flexnode.host.facts import read_facts

    # Before there is a configuration, the machine itself can be checked all the same.
    resolved = config.load(complete=find_config(config.path) is not None and not prepare)
    checks = CHECKS
    if prepare:
        resolved, checks = leave_out_cluster(resolved), relevant(Operation.PREPARE)
    clock, directory = SystemClock(), StateDirectory()
    digests = recall_digests(directory, clock)
    host = LiveHost(clock=clock, digests=digests)
    machine = Machine(
        host=host,
        facts=read_facts(host),
        clock=clock,
        uid=os.geteuid(),
        directory=directory,
        digests=digests,
    )
    with (
        open_progress(sys.stderr, clock) as progress,
        progress.step("look at the machine and its cluster"),
        survey(machine, resolved) as situation,
    ):
        return check_machine(
            situation, checks=checks, ignore=ignored, fail_on_warnings=fail_on_warnings, progress=progress
        )


def _render(finding: Finding, column: int, width: int) -> list[str]:
    level = click.style(f"{finding.level.value:<9}", fg=COLOURS[finding.level.value])
    indent = " " * (9 + column)
    text = _wrap(finding.message, indent, width)
    hint = _wrap(f"next: {finding.hint}", indent, width) if finding.hint else []
    return [f"{level}{finding.name:<{column}}{text[0].removeprefix(indent)}", *text[1:], *hint]


def _wrap(text: str, indent: str, width: int) -> list[str]:
    if not width:
        return [indent + text.replace("\n", " ")]
    return textwrap.wrap(
        text,
        max(min(width, WIDEST), NARROWEST),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [indent]


def _count(report: Report) -> dict[str, int]:
    found = Counter(finding.level.value for finding in report.findings)
    return {level: found[level] for level in COLOURS}


def _render_counts(report: Report) -> str:
    counts = _count(report)
    parts = [
        f"{counts['ok']} ok",
        *(f"{counts[level]} {level}{'s' if counts[level] != 1 else ''}" for level in ("warning", "error")),
        *([f"{counts['skipped']} skipped"] if counts["skipped"] else []),
    ]
    verdict = "nothing speaks against this machine" if report.passed else "this machine is not ready"
    if report.transient:
        verdict += ", which may pass by itself: try again"
    return f"{', '.join(parts)}: {verdict}"


def _check_data(check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "title": check.title,
        "remote": check.remote,
        "before": sorted(operation.value for operation in check.before),
    }
