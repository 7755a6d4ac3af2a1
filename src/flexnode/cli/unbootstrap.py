"""`aks-flex-node unbootstrap`: this machine leaves its cluster, and is what it was before."""

from __future__ import annotations

import click

from flexnode.cli.config import ConfigChoice, config_options
from flexnode.cli.operation import confirm, find_spec, finish, open_log, open_workplace, require_root
from flexnode.cli.output import verb_options

ONLY_PREPARED = "This removes all that was installed ahead of a join. Go on?"
QUESTION = "This drains the node, deletes it from its cluster, and removes all that was installed. Go on?"


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--force",
    is_flag=True,
    help="Go on where the cluster cannot be reached or a part refuses, and say what was left behind.",
)
@config_options
@verb_options
def unbootstrap(yes: bool, force: bool, config: ConfigChoice, output: str) -> int:
    """Leave the cluster and undo everything.

    Pods are moved away within their disruption budgets, the Node is deleted, services are stopped, and every
    file, unit, setting and package is put back as it was before the machine joined. What you changed since is
    kept. Nothing comes back by itself, not after a reboot either.

    No configuration is needed; where there is one, it tells the proxy that leads to the cluster.
    """
    from flexnode.flows.keeping import is_prepared
    from flexnode.flows.unbootstrap import unbootstrap as leave
    from flexnode.generation.outcome import Result

    require_root("unbootstrap")
    spec = find_spec(config)
    with open_log("unbootstrap", spec):
        with open_workplace() as workplace:
            prepared = is_prepared(workplace.directory)
        # Nothing is open while it asks: Ctrl-C is an answer, and not a wish to stop at a safe point.
        confirm(ONLY_PREPARED if prepared else QUESTION, yes=yes)
        with open_workplace() as workplace:
            outcome = leave(workplace, force=force, spec=spec)
        done = "what was prepared is undone" if prepared else "the machine has left its cluster"
        headlines = {
            Result.LEFT: done,
            Result.UNCHANGED: "nothing to do: this machine is no node",
            Result.DEGRADED: f"{done}, and something of it is still here",
        }
        return finish(outcome, headlines.get(outcome.result, outcome.result.value), output)
