"""`aks-flex-node bootstrap`: this machine becomes a node, or takes over a changed configuration."""

from __future__ import annotations

from typing import Any

import click

from flexnode.cli.config import ConfigChoice, config_options
from flexnode.cli.operation import finish, open_log, open_workplace, require_root
from flexnode.cli.output import verb_options
from flexnode.duration import parse_duration


class Duration(click.ParamType[float]):
    """15m, 90s, 1h30m, or a number of seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, int | float):
            return float(value)
        try:
            # A number without a unit is one of seconds, also behind others: 90, 1h30.
            seconds = parse_duration(f"{value}s" if value[-1:].isdecimal() else value)
        except ValueError:
            seconds = 0.0
        if not seconds:
            self.fail(f"{value!r} is no duration; write 15m, 90s or 1h30m", param, ctx)
        return seconds


@click.command()
@click.option(
    "--timeout",
    type=Duration(),
    help="How long to wait for the node to become Ready; before that, for a cluster or source that does not "
    "answer.  [default: agent.bootstrapTimeout for a first join, 15m; agent.verifyTimeout for a change, 5m]",
)
@click.option(
    "--prepare",
    is_flag=True,
    help="Install what needs no cluster, and stop there: for a template, or well ahead of the join.",
)
@click.option("--retry", is_flag=True, help="Try a generation again that did not work.")
@click.option("--ignore", metavar="NAME,…", multiple=True, help="Preflight checks to leave out.")
@config_options
@verb_options
def bootstrap(
    timeout: float | None,
    prepare: bool,
    retry: bool,
    ignore: tuple[str, ...],
    config: ConfigChoice,
    output: str,
) -> int:
    """Make this machine a node of its cluster; returns when the Node is Ready.

    Safe to run again: on a joined node it applies a changed configuration now, with the smallest disruption,
    and changes nothing where nothing is to be done. What is interrupted is gone on with.

    With --prepare the configuration need not name a cluster, and none is asked: programs, settings and images
    come, containerd runs, and kubelet waits. Say in versions.kubernetes which version it will be. The next
    bootstrap, or an agent that finds a configuration to join with, adds only what is left.
    """
    from flexnode.flows.bootstrap import BootstrapOptions, prepare_machine
    from flexnode.flows.bootstrap import bootstrap as join
    from flexnode.flows.preflight import parse_names
    from flexnode.generation.outcome import Result

    options = BootstrapOptions(seconds=timeout, retry=retry, ignore=parse_names(ignore), patient=True)
    require_root("bootstrap")
    resolved = config.load(complete=not prepare)
    with open_log("bootstrap", resolved.spec):
        with open_workplace() as workplace:
            outcome = (prepare_machine if prepare else join)(resolved, workplace, options)
        preparing = {
            Result.CONFIRMED: "the machine is prepared, and joins no cluster yet",
            Result.UNCHANGED: "nothing to do: the machine is prepared",
            Result.ROLLED_BACK: "the change did not work; the machine is prepared as it was before",
            Result.UNCONFIRMED: "everything is in place, and does not work yet",
            Result.DEGRADED: "the machine is not as it should be",
        }
        joining = {
            Result.CONFIRMED: "the node is Ready",
            Result.UNCHANGED: "nothing to do: the node is as it should be",
            Result.ROLLED_BACK: "the change did not work; the node is Ready as it was before",
            Result.REBOOTING: "everything is in place; the machine reboots",
            Result.UNCONFIRMED: "everything is in place, and the node is not Ready yet",
            Result.DEGRADED: "the node is not as it should be",
        }
        headlines = preparing if prepare else joining
        return finish(outcome, headlines.get(outcome.result, outcome.result.value), output)
