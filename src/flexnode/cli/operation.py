"""What the verbs that change the machine share: where they work, how they are stopped, how they end."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any

import click
import msgspec

from flexnode.cli.output import RESERVATION, TRANSIENT
from flexnode.clock import SystemClock
from flexnode.errors import ConfigError, FlexError

if TYPE_CHECKING:
    from flexnode.cli.config import ConfigChoice
    from flexnode.flows.workplace import Workplace
    from flexnode.generation.outcome import Failure, Outcome
    from flexnode.model.spec import NodeSpec


@contextmanager
def open_workplace() -> Iterator[Workplace]:
    """This machine, unless whoever runs the verb gives another one. SIGTERM and Ctrl-C end an operation at
    the next point where it can be gone on with.
    """
    from flexnode.cli.progress import open_progress
    from flexnode.flows.log import Logged
    from flexnode.flows.workplace import Workplace
    from flexnode.generation.digest_memory import recall_digests
    from flexnode.generation.directory import StateDirectory
    from flexnode.host import LiveHost

    context = click.get_current_context(silent=True)
    given = context.find_object(Workplace) if context else None
    if given is not None:
        yield given
        return
    clock, asked = SystemClock(), Event()
    with _stoppable(asked), open_progress(sys.stderr, clock) as progress:
        directory = StateDirectory()
        digests = recall_digests(directory, clock)
        yield Workplace(
            host=LiveHost(clock=clock, digests=digests),
            clock=clock,
            directory=directory,
            digests=digests,
            progress=Logged(progress=progress, clock=clock),
            stop=asked.is_set,
        )


@contextmanager
def open_log(verb: str, spec: NodeSpec | None) -> Iterator[None]:
    """What the verb does is written to the log on this machine, and how it ended."""
    from flexnode.flows.log import TOLD, written_down
    from flexnode.flows.workplace import Workplace
    from flexnode.model.spec import AgentSpec

    context = click.get_current_context(silent=True)
    if context is not None and context.find_object(Workplace) is not None:
        yield
        return
    agent, told = spec.agent if spec else AgentSpec(), logging.getLogger(TOLD)
    with written_down(agent.log_directory, agent.log_level, sys.stderr):
        told.info("%s, asked for by a person or a script", verb)
        try:
            yield
        except FlexError as error:
            told.error("%s failed: %s (%s)", verb, error.message, error.code)
            raise
        except Exception as error:
            from flexnode.cli.defect import render_traceback

            told.error("%s failed: %s", verb, render_traceback(error))
            raise
        except KeyboardInterrupt:
            told.error("%s was interrupted", verb)
            raise


def require_root(verb: str) -> None:
    if os.geteuid() != 0:
        raise FlexError(
            f"{verb} changes the machine, and needs root", code="host/not-root", hint="run it with sudo"
        )


def find_spec(config: ConfigChoice) -> NodeSpec | None:
    """The configuration where it can be read, for verbs that can do without; a word on stderr where not."""
    try:
        return config.load().spec
    except ConfigError as error:
        if error.code == "config/not-found" and config.path is not None:
            raise  # the one that was named was meant
        if error.code != "config/not-found":
            reason = "; ".join(error.message.splitlines())
            click.echo(f"warning: going on without the configuration: {reason}", err=True)
        return None


def find_exit_code(outcome: Outcome) -> int:
    """What the contract gives this outcome."""
    if outcome.failure is not None:
        from flexnode.errors import Kind

        return TRANSIENT if outcome.failure.kind is Kind.TRANSIENT else 1
    if outcome.reservations or outcome.kept:
        return RESERVATION
    from flexnode.generation.outcome import Result

    return 0 if outcome.result in (Result.CONFIRMED, Result.UNCHANGED, Result.LEFT) else 1


def outcome_data(outcome: Outcome) -> dict[str, Any]:
    """The outcome as JSON. Changes are named; their contents are the plan's business."""
    data: dict[str, Any] = msgspec.to_builtins(outcome)
    data["changes"] = [change.key for change in outcome.changes]
    data["disruption"] = str(outcome.disruption)
    return data


def render_outcome(outcome: Outcome, headline: str) -> str:
    """The headline, what was done, and whatever a person should know besides."""
    lines = [headline]
    if outcome.changes:
        restarted = f", restarted {', '.join(outcome.restarts)}" if outcome.restarts else ""
        lines.append(f"  {len(outcome.changes)} changes{restarted}")
    lines += [f"  {timing.name:<10} {timing.seconds:7.1f} s" for timing in outcome.timings if not timing.key]
    lines += [f"  kept, since it was edited: {path}" for path in outcome.kept]
    lines += [f"  reservation: {text}" for text in outcome.reservations]
    lines += [f"  warning: {text}" for text in outcome.warnings]
    return "\n".join(lines)


def tell_failure(failure: Failure) -> None:
    """The failure inside an outcome, in the form of any other."""
    from flexnode.cli.output import render_error
    from flexnode.errors import Kind

    error = FlexError(
        failure.message,
        code=failure.code,
        transient=failure.kind is Kind.TRANSIENT,
        hint=failure.hint,
    )
    render_error(error, json=False)


def finish(outcome: Outcome, headline: str, output: str) -> int:
    """Show an outcome and answer the exit code."""
    from flexnode.cli.output import emit
    from flexnode.flows.log import TOLD

    told = logging.getLogger(TOLD)
    told.info("%s", headline)
    for text in (*outcome.reservations, *outcome.warnings):
        told.info("besides: %s", text)
    emit(output, text=render_outcome(outcome, headline), data=outcome_data(outcome))
    if outcome.failure is not None:
        tell_failure(outcome.failure)
    return find_exit_code(outcome)


def confirm(question: str, *, yes: bool) -> None:
    """Ask, unless it was answered on the command line. Without a terminal nobody can answer."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise FlexError(
            "nobody is there to confirm this", code="usage/not-confirmed", hint="add --yes if you mean it"
        )
    if not click.confirm(question, err=True):
        raise FlexError(
            "nothing was done: the answer was no", code="usage/not-confirmed", hint="add --yes if you mean it"
        )


@contextmanager
def _stoppable(asked: Event) -> Iterator[None]:
    def ask(number: int, _frame: object) -> None:
        if asked.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt  # asked twice: the person does not want to wait
        asked.set()
        # Not through Python's buffers: the signal may have come in the middle of a write to them.
        os.write(2, b"stopping at the next safe point\n")

    before = {number: signal.signal(number, ask) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
