"""What people and programs are shown: text or JSON on stdout, failures on stderr, logs on stderr."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from flexnode.errors import FlexError

F = TypeVar("F", bound=Callable[..., Any])

LOG_LEVELS = ("debug", "info", "warning", "error")

# Exit codes of the contract that are no failure's: errors know their own.
RESERVATION = 3  # the goal is reached, and something about it is worth knowing
CHANGES = 10  # something would change, or differs
TRANSIENT = 75  # it may pass by itself: try again


def verb_options(command: F) -> F:
    """What every verb has: `--output` arrives as `output`, `--log-level` takes effect by itself."""
    command = click.option(
        "--log-level",
        type=click.Choice(LOG_LEVELS, case_sensitive=False),
        default="warning",
        show_default=True,
        expose_value=False,
        callback=_set_log_level,
        help="How much to log to stderr.",
    )(command)
    return click.option(
        "--output",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Text for people, or one JSON document on stdout.",
    )(command)


def emit(output: str, *, text: str, data: Any) -> None:
    """Show an outcome in the form that was asked for. `data` is anything that JSON can hold."""
    if output == "json":
        click.echo(json_format.dumps(data, indent=2, sort_keys=True))
    elif text:
        click.echo(text)


def render_error(error: FlexError, *, json: bool) -> None:
    """Tell a failure: what happened, its code, what to do next; with `json`, the record on stdout, too."""
    if json:
        click.echo(json_format.dumps({"error": error.record()}, indent=2, sort_keys=True))
    again = ", trying again may help" if error.transient else ""
    lines = [f"error: {error.message}", f"  code: {error.code} ({error.kind}{again})"]
    if error.hint:
        lines.append(f"  next: {error.hint}")
    click.echo("\n".join(lines), err=True)


def render_click_error(error: click.ClickException) -> None:
    """Tell what was wrong with the command line, in the same form as any other failure."""
    context = getattr(error, "ctx", None)
    lines = [f"error: {error.format_message()}", "  code: usage/invalid (terminal)"]
    if context is not None:
        lines.append(f"  next: see `{context.command_path} --help`")
    click.echo("\n".join(lines), err=True)


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for JSON: asked of the words, since parsing itself may be what failed."""
    pairs = zip(arguments, [*arguments[1:], ""], strict=True)
    return any(word == "--output=json" or (word == "--output" and value == "json") for word, value in pairs)


def _set_log_level(_context: click.Context, _parameter: click.Parameter, value: str) -> None:
    if value == "warning":  # what logging does by itself: a quick verb need not import it
        return
    import logging

    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(stream=sys.stderr, level=value.upper(), format=form)
