"""What people and scripts are shown of a check of the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flexnode.cli.ending import run
from flexnode.cli.preflight import find_exit_code, render_report, report_data
from flexnode.cli.root import root
from flexnode.flows.preflight import CHECKS, Finding, Report
from flexnode.flows.preflight.check import error, ok, skipped, warning

TRANSIENT = error("kube/unreachable", "nobody answers", hint="check the route", transient=True)
TERMINAL = error("preflight/port-taken", "port 10250 is held", hint="stop its holder")
WARNING = warning("preflight/cpus", "1 processor", hint="2 or more are comfortable")


def named(name: str, finding: Finding) -> Finding:
    return Finding(
        name=name,
        level=finding.level,
        message=finding.message,
        hint=finding.hint,
        code=finding.code,
        kind=finding.kind,
    )


def report(*findings: Finding, strict: bool = False) -> Report:
    return Report(
        findings=tuple(named(f"check-{number}", each) for number, each in enumerate(findings)), strict=strict
    )


def invoke(*arguments: str) -> int:
    return run(root, "aks-flex-node", ["preflight", *arguments])


@pytest.mark.parametrize(
    ("shown", "code"),
    [
        (report(ok("fine"), WARNING, skipped("no cluster")), 0),
        (report(WARNING, strict=True), 1),
        (report(TERMINAL), 1),
        (report(TRANSIENT, WARNING), 75),
        (report(TRANSIENT, TERMINAL), 1),
    ],
)
def test_a_script_knows_whether_to_go_on_to_give_up_or_to_try_again(shown: Report, code: int) -> None:
    assert find_exit_code(shown) == code


def test_each_finding_is_a_line_with_its_remedy_below() -> None:
    text = render_report(report(ok("fine"), TERMINAL, WARNING, skipped("no cluster")))
    lines = [line.replace("\x1b[0m", "") for line in text.splitlines()]
    assert [line.split("check-")[-1] for line in lines[:1]] == ["0  fine"]
    assert lines[2].strip() == "next: stop its holder"
    assert lines[2].index("next") == lines[1].replace("\x1b[31m", "").index("port 10250")
    assert lines[-1] == "1 ok, 1 warning, 1 error, 1 skipped: this machine is not ready"


def test_what_may_pass_by_itself_is_said_so() -> None:
    assert render_report(report(TRANSIENT)).splitlines()[-1].endswith("which may pass by itself: try again")


@pytest.mark.parametrize("width", [20, 60, 80, 300])
def test_on_a_terminal_no_line_is_too_long_and_no_word_is_lost(width: int) -> None:
    long = error("x/y", "word " * 80 + "end", hint="remedy " * 40)
    lines = render_report(report(long), width=width).splitlines()[:-1]
    visible = [line.replace("\x1b[31m", "").replace("\x1b[0m", "") for line in lines]
    assert max(len(line) for line in visible) <= max(min(width, 120), 60)
    words = " ".join(visible).split()
    assert words.count("word") == 80
    assert words.count("remedy") == 40


def test_json_has_every_field_of_every_finding() -> None:
    data = report_data(report(TRANSIENT, ok("fine")))
    assert data["passed"] is False
    assert data["transient"] is True
    assert data["counts"] == {"ok": 1, "warning": 0, "error": 1, "skipped": 0}
    assert data["findings"][0] == {
        "name": "check-0",
        "level": "error",
        "message": "nobody answers",
        "hint": "check the route",
        "code": "kube/unreachable",
        "kind": "transient",
    }
    assert data["findings"][1]["kind"] is None


def test_every_check_can_be_looked_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke("--list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [check.name for check in CHECKS]


def test_the_list_as_json_says_what_bootstrap_asks_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke("--list", "--output", "json") == 0
    listed: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["checks"]
    before = {check["name"]: check["before"] for check in listed}
    assert "bootstrap" in before["disk"]
    assert before["ulimits"] == []


def test_ahead_of_the_join_nothing_is_asked_about_a_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A configuration that names none is whole for that, and not valid for a node."""
    file = tmp_path / "config.json"
    file.write_text('{"apiVersion": "flexnode.io/v1", "kind": "NodeConfig"}')
    ignored = ",".join(check.name for check in CHECKS if check.name not in {"memory", "api-server"})
    words = ("--config", str(file), "--ignore", ignored, "--output", "json")
    invoke("--prepare", *words)
    levels = {each["name"]: each["level"] for each in json.loads(capsys.readouterr().out)["findings"]}
    assert levels["memory"] in ("ok", "warning", "error")
    assert "api-server" not in levels
    assert invoke(*words) == 2
    assert "cluster.server" in capsys.readouterr().err


def test_a_mistyped_name_is_refused_before_anything_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke("--ignore", "swapp") == 2
    told = capsys.readouterr().err
    assert "there is no check 'swapp'" in told
    assert "did you mean swap?" in told


def test_an_invalid_configuration_is_told_and_no_machine_is_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"apiVersion": "flexnode.io/v1", "kind": "NodeConfig", "kubelet": {"maxPod": 5}}')
    assert invoke("--config", str(file)) == 2
    captured = capsys.readouterr()
    assert "maxPod" in captured.err
    assert captured.out == ""


def test_this_very_machine_can_be_checked(capsys: pytest.CaptureFixture[str]) -> None:
    """The seams fit together. Only checks that any machine passes, or that say why not, are asked."""
    asked = {"memory", "cpus", "kernel"}
    ignored = ",".join(check.name for check in CHECKS if check.name not in asked)
    status = invoke("--ignore", ignored, "--output", "json")
    data = json.loads(capsys.readouterr().out)
    levels = {finding["name"]: finding["level"] for finding in data["findings"]}
    assert {levels[name] for name in asked} <= {"ok", "warning", "error"}
    assert {level for name, level in levels.items() if name not in asked} == {"skipped"}
    assert (status == 0) is data["passed"]
