"""What the verbs share: their common options, and how an outcome is shown."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import click
import msgspec

from flexlab.lab import Lab, list_labs, require_lab
from flexlab.model import NodeSpec
from flexnode.cli.progress import open_progress
from flexnode.clock import Clock, SystemClock
from flexnode.progress import Progress

F = TypeVar("F", bound=Callable[..., Any])

CLOCK: Clock = SystemClock()
DEFAULT_LAB = "lab"


def complete_lab(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in list_labs() if name.startswith(incomplete)]


def complete_node(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    lab = require_lab(context.params.get("name") or DEFAULT_LAB)
    return [node.name for node in lab.spec.nodes if node.name.startswith(incomplete)]


name_option = click.option(
    "--name",
    default=DEFAULT_LAB,
    show_default=True,
    metavar="LAB",
    is_eager=True,
    shell_complete=complete_lab,
    help="Which lab; several can exist side by side.",
)

output_option = click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text is for people, json is one document on stdout.",
)

node_argument = click.argument("node_name", metavar="NODE", shell_complete=complete_node)


def with_node(function: F) -> F:
    """For verbs about one machine: `--name` and NODE become a lab and its node."""

    @name_option
    @node_argument
    @functools.wraps(function)
    def wrapper(name: str, node_name: str, **rest: Any) -> Any:
        lab = require_lab(name)
        node: NodeSpec = lab.spec.node(node_name)
        return function(lab=lab, node=node, **rest)

    return wrapper  # type: ignore[return-value]


def with_lab(function: F) -> F:
    """For verbs about a lab: `--name` becomes the lab."""

    @name_option
    @functools.wraps(function)
    def wrapper(name: str, **rest: Any) -> Any:
        lab: Lab = require_lab(name)
        return function(lab=lab, **rest)

    return wrapper  # type: ignore[return-value]


def watch() -> AbstractContextManager[Progress]:
    """Progress on stderr, for as long as the verb works."""
    return open_progress(sys.stderr, CLOCK)


def show(value: Any, text: str, output: str) -> None:
    """Print an outcome in the form that was asked for."""
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))
    else:
        click.echo(text)
