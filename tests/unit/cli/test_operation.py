"""What every verb that changes the machine promises: how it ends, what it shows, and how it is stopped."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from flexnode.cli.config import ConfigChoice
from flexnode.cli.ending import run
from flexnode.cli.operation import (
    confirm,
    find_exit_code,
    find_spec,
    finish,
    open_log,
    open_workplace,
    outcome_data,
    render_outcome,
    require_root,
)
from flexnode.cli.root import root
from flexnode.errors import ConfigError, FlexError, Kind
from flexnode.generation import Failure, Name, Outcome, Result, Timing
from flexnode.model.spec import AgentSpec, NodeSpec
from flexnode.resources import Change, Disruption
from flexnode.resources.state import Absent, File, Text
from unit.config.samples import SMALL

LATER = Failure(code="node/not-ready", kind=Kind.TRANSIENT, message="it is not Ready", hint="wait")
NEVER = Failure(code="join/name-taken", kind=Kind.TERMINAL, message="the name is taken", hint="take another")
SECRET_LOOKING = "the content of a file"


def outcome(result: Result = Result.CONFIRMED, **rest: Any) -> Outcome:
    return Outcome(result=result, operation="bootstrap", generation="abc", **rest)


def aks_flex_node(*words: object) -> int:
    return run(root, "aks-flex-node", [str(word) for word in words])


@pytest.mark.parametrize("result", list(Result))
@pytest.mark.parametrize("failure", [None, LATER, NEVER])
@pytest.mark.parametrize("reservations", [(), ("the cluster still lists it",)])
@pytest.mark.parametrize("kept", [(), ("/etc/mine",)])
def test_the_exit_code_is_that_of_the_contract(
    result: Result, failure: Failure | None, reservations: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    """75: try again; 1: do not; 3: done, with a reservation; a failure says more than a reservation."""
    code = find_exit_code(outcome(result, failure=failure, reservations=reservations, kept=kept))
    if failure is not None:
        assert code == (75 if failure.kind is Kind.TRANSIENT else 1)
    elif reservations or kept:
        assert code == 3
    elif result in (Result.CONFIRMED, Result.UNCHANGED, Result.LEFT):
        assert code == 0
    else:
        assert code == 1, "a goal that is unmet is no success, whatever else is known"


def test_a_warning_is_no_reservation() -> None:
    assert find_exit_code(outcome(warnings=("an entry was damaged",))) == 0


FULL = outcome(
    changes=(
        Change(key="file:/etc/one", before=Absent(), after=File(content=Text(text=SECRET_LOOKING))),
        Change(key="unit:kubelet.service", before=Absent(), after=Absent()),
    ),
    restarts=("kubelet.service",),
    disruption=Disruption.RESTART_KUBELET,
    kept=("/etc/mine",),
    reservations=("the cluster still lists it",),
    warnings=("an entry was damaged",),
    timings=(Timing(name=Name.VERIFY, seconds=21.04), Timing(name=Name.APPLY, key="file:/x", seconds=1)),
)


def test_people_see_what_was_done_and_what_was_not() -> None:
    assert render_outcome(FULL, "the node is Ready").splitlines() == [
        "the node is Ready",
        "  2 changes, restarted kubelet.service",
        "  verify        21.0 s",
        "  kept, since it was edited: /etc/mine",
        "  reservation: the cluster still lists it",
        "  warning: an entry was damaged",
    ]


def test_programs_get_all_of_it_but_no_file_contents() -> None:
    data = json.loads(json.dumps(outcome_data(FULL)))
    assert data["changes"] == ["file:/etc/one", "unit:kubelet.service"]
    assert data["disruption"] == "restart-kubelet"
    assert data["result"] == "confirmed"
    assert data["reservations"] == ["the cluster still lists it"]
    assert SECRET_LOOKING not in json.dumps(data)


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_failure_inside_an_outcome_is_told_like_any_other(
    output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert finish(outcome(Result.UNCONFIRMED, failure=LATER), "it is in place", output) == 75
    shown = capsys.readouterr()
    assert shown.err == (
        "error: it is not Ready\n  code: node/not-ready (transient, trying again may help)\n  next: wait\n"
    )
    if output == "json":
        assert json.loads(shown.out)["failure"]["code"] == "node/not-ready"
    else:
        assert shown.out == "it is in place\n"


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert finish(FULL, "the node is Ready", "json") == 3
    assert json.loads(capsys.readouterr().out)["generation"] == "abc"


@contextmanager
def as_nobody() -> Iterator[None]:
    """Another effective user, where this is root."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(was)


def test_who_is_not_root_is_told_so_before_anything_happens() -> None:
    with as_nobody(), pytest.raises(FlexError) as caught:
        require_root("bootstrap")
    assert caught.value.code == "host/not-root"
    assert "sudo" in caught.value.hint
    assert not caught.value.transient


@pytest.mark.parametrize("verb", ["bootstrap", "unbootstrap", "rollback", "recover"])
def test_every_verb_that_changes_the_machine_needs_root(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    aks_flex_node(verb, "--help")  # imports what the verb needs, as root
    with as_nobody():
        code = aks_flex_node(verb, "--set", "cluster.server=https://127.0.0.1:9")
    assert code == 1
    assert "host/not-root" in capsys.readouterr().err


def test_nothing_is_asked_of_who_has_answered() -> None:
    with CliRunner().isolation():
        confirm("Go on?", yes=True)


def test_where_nobody_can_answer_nothing_is_assumed() -> None:
    """In a script or a unit there is no terminal: a machine must not leave by accident."""
    with CliRunner().isolation(), pytest.raises(FlexError) as caught:
        confirm("Go on?", yes=False)
    assert caught.value.code == "usage/not-confirmed"
    assert "--yes" in caught.value.hint


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_the_operation_to_stop(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(number)
    with open_workplace() as workplace:
        assert not workplace.stop()
        os.kill(os.getpid(), number)
        assert workplace.stop()
    assert signal.getsignal(number) is before
    assert "stopping at the next safe point" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FlexError("no way", code="kube/unreachable"), "rollback failed: no way (kube/unreachable)"),
        (RuntimeError("a defect with 0123456789abcdef in it"), "RuntimeError"),
        (KeyboardInterrupt(), "rollback was interrupted"),
    ],
)
def test_what_ends_a_verb_is_written_to_the_log(tmp_path: Path, error: BaseException, words: str) -> None:
    """Whoever was not at the terminal reads there what happened."""
    spec = NodeSpec(agent=AgentSpec(log_directory=str(tmp_path)))

    def fail() -> None:
        with open_log("rollback", spec):
            raise error

    with pytest.raises(type(error)):
        fail()
    assert words in (tmp_path / "aks-flex-node.log").read_text()


def interrupt_twice() -> None:
    with open_workplace():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)


def test_who_asks_twice_does_not_want_to_wait() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt_twice()


def test_systemd_may_ask_twice_without_breaking_anything() -> None:
    with open_workplace() as workplace:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert workplace.stop()


def test_a_configuration_that_can_be_read_is_used(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps(SMALL))
    spec = find_spec(ConfigChoice(path=path))
    assert spec is not None
    assert spec.cluster.server == SMALL["cluster"]["server"]


def test_a_broken_configuration_is_done_without_and_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"apiVersion": "flexnode.io/v1", "kind": "NodeConfig", "kubelet": {"maxPod": 5}}')
    assert find_spec(ConfigChoice(path=path)) is None
    told = capsys.readouterr().err
    assert told.startswith("warning: going on without the configuration")
    assert "maxPod" in told


def test_a_configuration_that_was_named_and_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Whoever names a file expects it to count."""
    with pytest.raises(ConfigError):
        find_spec(ConfigChoice(path=tmp_path / "config.json"))
