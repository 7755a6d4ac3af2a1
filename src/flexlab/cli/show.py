"""`flexlab demo`: the laboratory shows itself."""

from __future__ import annotations

import click

from flexlab.cli.context import CLOCK, watch
from flexlab.cli.render import render_status
from flexlab.cluster import observe
from flexlab.demo import LAB, Show

NEXT = f"""
The lab stays up. What to try next:
  flexlab kubectl --name {LAB} get all -A            ask the cluster
  flexlab node exec --name {LAB} node2               a shell on the node; try aks-flex-node status
  flexlab node join --name {LAB} node1               make a node of the other machine again
  flexlab fault line --name {LAB} node2 --loss 30    a bad line
  flexlab node power-cut --name {LAB} node2          a power cut
  flexlab down --name {LAB}                          take it all away
(`source .venv/bin/activate` puts flexlab on your PATH.)"""


@click.command(short_help="Show two stock machines become nodes, and one go back.")
def demo() -> None:
    """Make nodes of two stock machines, let their pods meet, and make one of them stock again."""
    with watch() as progress:
        lab = Show(progress=progress, clock=CLOCK, say=click.echo).run()
    click.echo(f"\n{render_status(observe(lab))}")
    click.echo(NEXT)
