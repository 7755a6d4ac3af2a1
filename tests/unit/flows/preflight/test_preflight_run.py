"""A report comes in any case: whatever breaks, hangs or is left out, the other checks are told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from flexnode.errors import FlexError, HostError, UsageError
from flexnode.flows.preflight import (
    CHECKS,
    Check,
    Finding,
    Level,
    Operation,
    Report,
    Situation,
    parse_names,
    preflight,
    relevant,
    require_passed,
)
from flexnode.flows.preflight.check import error, ok, warning
from unit.flows.preflight.samples import check_named, situation


def saying(*findings: Finding, name: str = "sample", remote: bool = False) -> Check:
    return Check(name=name, title="a sample", run=lambda _: iter(findings), remote=remote)


def raising(failure: Exception, name: str = "broken", remote: bool = False) -> Check:
    def run(_: Situation) -> Iterator[Finding]:
        yield ok("so far, so good")
        raise failure

    return Check(name=name, title="breaks", run=run, remote=remote)


WARNING = warning("sample/warning", "odd", hint="look")
TERMINAL = error("sample/terminal", "wrong", hint="mend it")
TRANSIENT = error("sample/transient", "late", hint="wait", transient=True)


@pytest.mark.parametrize("remote", [False, True])
def test_a_check_that_breaks_is_a_finding_and_hides_no_other(remote: bool) -> None:
    checks = [raising(ZeroDivisionError("by zero"), remote=remote), saying(ok("fine"), name="next")]
    report = preflight(situation(), checks=checks)
    (broken,) = report.at(Level.ERROR)
    assert broken.name == "broken"
    assert broken.code == "preflight/broken-check"
    assert "ZeroDivisionError: by zero" in broken.message
    assert "--ignore broken" in broken.hint
    assert report.findings[-1].name == "next"


def test_a_failure_keeps_its_own_code_kind_and_remedy() -> None:
    failure = HostError("no space", code="host/no-space", transient=True, hint="free some")
    report = preflight(situation(), checks=[raising(failure)])
    (finding,) = report.at(Level.ERROR)
    assert (finding.code, finding.hint) == ("host/no-space", "free some")
    assert report.transient


def test_a_check_that_hangs_ends_with_the_time_and_hides_no_other() -> None:
    """A name server that never answers would otherwise hold up a bootstrap for ever."""
    never = threading.Event()

    def hang(_: Situation) -> Iterator[Finding]:
        never.wait()
        yield ok("too late")

    checks = [Check(name="hangs", title="hangs", run=hang, remote=True), saying(ok("fine"), remote=True)]
    try:
        report = preflight(situation(), checks=checks, time_limit=0.2)
    finally:
        never.set()
    (late,) = report.at(Level.ERROR)
    assert (late.name, late.code) == ("hangs", "preflight/timeout")
    assert report.transient
    assert [finding.name for finding in report.at(Level.OK)] == ["sample"]


def test_a_slow_package_archive_keeps_no_machine_from_joining() -> None:
    """Fetching its lists may take a small machine minutes: installing waits for that, a check does not."""
    never = threading.Event()

    def hang(_: Situation) -> Iterator[Finding]:
        never.wait()
        yield ok("too late")

    try:
        report = preflight(situation(), checks=[replace(check_named("packages"), run=hang)], time_limit=0.2)
    finally:
        never.set()
    assert report.passed
    (late,) = report.at(Level.WARNING)
    assert (late.name, late.code) == ("packages", "preflight/timeout")
    assert "aks-flex-node artifacts bundle" in late.hint


def test_checks_of_the_network_run_at_the_same_time() -> None:
    """One after the other, every server that is down would cost its whole time limit."""
    both = threading.Barrier(2, timeout=20.0)

    def meet(_: Situation) -> Iterator[Finding]:
        both.wait()
        yield ok("met")

    checks = [Check(name=name, title="meets", run=meet, remote=True) for name in ("one", "two")]
    report = preflight(situation(), checks=checks)
    assert [(finding.name, finding.message) for finding in report.findings] == [
        ("one", "met"),
        ("two", "met"),
    ]


def test_an_ignored_check_is_not_asked_and_is_shown_as_such() -> None:
    report = preflight(
        situation(), checks=[raising(ZeroDivisionError()), saying(ok("fine"))], ignore=["broken"]
    )
    assert report.passed
    assert [(finding.name, finding.level) for finding in report.findings] == [
        ("broken", Level.SKIPPED),
        ("sample", Level.OK),
    ]


@pytest.mark.parametrize(
    ("findings", "strict", "passed", "transient"),
    [
        ((ok("fine"),), False, True, False),
        ((WARNING,), False, True, False),
        ((WARNING,), True, False, False),
        ((TERMINAL,), False, False, False),
        ((TRANSIENT,), False, False, True),
        ((TRANSIENT, WARNING), False, False, True),
        ((TRANSIENT, WARNING), True, False, False),
        ((TRANSIENT, TERMINAL), False, False, False),
    ],
)
def test_what_a_report_means(
    findings: tuple[Finding, ...], strict: bool, passed: bool, transient: bool
) -> None:
    """A bootstrap tries again after what may pass by itself, and only after that."""
    report = preflight(situation(), checks=[saying(*findings)], fail_on_warnings=strict)
    assert (report.passed, report.transient) == (passed, transient)


def test_a_single_objection_is_raised_under_its_own_code() -> None:
    with pytest.raises(FlexError) as caught:
        require_passed(preflight(situation(), checks=[saying(TRANSIENT)]))
    assert (caught.value.code, caught.value.transient, caught.value.hint) == (
        "sample/transient",
        True,
        "wait",
    )


def test_several_objections_are_raised_together() -> None:
    checks = [saying(TERMINAL, name="one"), saying(TRANSIENT, name="two"), saying(WARNING, name="three")]
    with pytest.raises(FlexError) as caught:
        require_passed(preflight(situation(), checks=checks))
    assert caught.value.code == "preflight/failed"
    assert not caught.value.transient
    assert "one: wrong" in caught.value.message
    assert "two: late" in caught.value.message
    assert "three" not in caught.value.message
    assert caught.value.hint == "mend it; wait"


def test_nothing_is_raised_when_all_is_well() -> None:
    require_passed(Report(findings=(ok("fine"), WARNING)))


def test_names_come_separated_by_commas_and_several_times() -> None:
    assert parse_names(["swap, disk", "swap", ""]) == ("swap", "disk")


def test_a_mistyped_name_is_refused_with_a_guess() -> None:
    """It would otherwise ignore nothing, and nobody would know why."""
    with pytest.raises(UsageError) as caught:
        parse_names(["swap,memmory"])
    assert "memmory" in caught.value.message
    assert "did you mean memory?" in caught.value.hint


def test_each_operation_asks_what_could_make_it_fail() -> None:
    names = {operation: {check.name for check in relevant(operation)} for operation in Operation}
    assert {"root", "disk", "writable", "token", "node-name", "artifacts", "ports"} <= names[
        Operation.BOOTSTRAP
    ]
    assert {"disk", "artifacts", "version-skew"} <= names[Operation.UPGRADE]
    assert not {"ports", "left-overs", "node-name"} & names[Operation.UPGRADE]
    assert {"root", "disk", "cgroup2", "artifacts", "packages", "containerd-socket"} <= names[
        Operation.PREPARE
    ]
    assert names[Operation.PREPARE] < names[Operation.BOOTSTRAP]
    of_clusters = {"api-server", "ca", "token", "node-name", "version-skew", "clock-skew", "hostname"}
    assert not of_clusters & names[Operation.PREPARE], "a template has neither a cluster nor a name"
    remote = {check.name for check in CHECKS if check.remote}
    assert not remote & names[Operation.UNBOOTSTRAP], "leaving must not depend on anything that can be down"
