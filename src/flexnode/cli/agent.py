"""`aks-flex-node agent`: what the systemd unit aks-flex-node-agent runs."""

from __future__ import annotations

import os
import sys

import click

from flexnode.cli.config import ConfigChoice, config_options
from flexnode.cli.operation import require_root
from flexnode.cli.output import LOG_LEVELS


@click.command()
@click.option(
    "--log-level",
    type=click.Choice(LOG_LEVELS, case_sensitive=False),
    help="How much to log.  [default: agent.logLevel of the configuration, info]",
)
@config_options
def agent(log_level: str | None, config: ConfigChoice) -> None:
    """Bootstrap if needed, then look after the node until told to stop.

    SIGTERM ends it at a point from which the next start goes on; SIGHUP makes it read everything again, and
    try again what it had given up. `status` shows what it is at.
    """
    from flexnode.agent.assemble import open_agent
    from flexnode.host import begin_anew

    require_root("agent")
    level = (log_level or "").lower()
    with open_agent(config.load, config.path, environ=os.environ, stream=sys.stderr, level=level) as daemon:
        anew = daemon.run()
    if anew:
        begin_anew()  # what it held, locks among it, was given back with the block above
