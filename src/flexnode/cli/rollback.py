"""`aks-flex-node rollback`: the generation before the current one, again."""

from __future__ import annotations

import click

from flexnode.cli.bootstrap import Duration
from flexnode.cli.config import ConfigChoice, config_options
from flexnode.cli.operation import find_spec, finish, open_log, open_workplace, require_root
from flexnode.cli.output import verb_options


@click.command()
@click.option("--timeout", type=Duration(), default="5m", show_default=True, help="Until it must be Ready.")
@config_options
@verb_options
def rollback(timeout: float, config: ConfigChoice, output: str) -> int:
    """Go back to the generation before the current one; needs no network but the API server.

    What is left behind is not activated again by itself: change the configuration, or run
    `bootstrap --retry`.
    """
    from flexnode.flows.going_back import rollback as go_back
    from flexnode.generation.outcome import Result

    require_root("rollback")
    spec = find_spec(config)
    with open_log("rollback", spec):
        with open_workplace() as workplace:
            outcome = go_back(workplace, seconds=timeout, spec=spec)
        goal = "the node is Ready" if outcome.joined else "the machine is prepared"
        headlines = {
            Result.CONFIRMED: f"{goal} as it was before",
            Result.UNCHANGED: "nothing to do: the node is at that generation",
            Result.ROLLED_BACK: "the generation before does not work; the node stays as it is",
            Result.REBOOTING: "everything is in place; the machine reboots",
            Result.DEGRADED: "the node is not as it should be",
        }
        return finish(outcome, headlines.get(outcome.result, outcome.result.value), output)
