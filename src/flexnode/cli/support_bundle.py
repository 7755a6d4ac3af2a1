"""`aks-flex-node bundle`: what it takes to understand this node from afar."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from flexnode.cli.config import ConfigChoice, config_options
from flexnode.cli.output import emit, verb_options


@click.command()
@click.option(
    "--file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Where to write it.  [default: aks-flex-node-HOST-TIME.tar.gz, here]",
)
@config_options
@verb_options
def bundle(file: Path | None, config: ConfigChoice, output: str) -> None:
    """Write a support bundle: status, records, logs, and what the machine says of itself.

    Secrets are taken out: those of the configuration wherever they stand, and whatever looks like one. Look
    through it before you hand it on all the same; names and addresses are in it. Changes nothing.
    """
    from flexnode.cli.operation import require_root
    from flexnode.cli.progress import open_progress
    from flexnode.clock import SystemClock
    from flexnode.config import DIRECTORY
    from flexnode.flows.support import Collector
    from flexnode.host import LiveHost

    require_root("bundle")
    clock = SystemClock()
    name = f"aks-flex-node-{os.uname().nodename.partition('.')[0]}-{clock.now():%Y%m%dT%H%M%SZ}.tar.gz"
    target = file or Path(name)
    with open_progress(sys.stderr, clock) as progress:
        collector = Collector(
            host=LiveHost(clock=clock),
            clock=clock,
            load=lambda: config.load(complete=False),
            config=config.path.parent if config.path else DIRECTORY,
            progress=progress,
        )
        with progress.step("collect"):
            names = collector.write(target)
    emit(output, text=f"wrote {target}", data={"file": str(target), "entries": list(names)})
