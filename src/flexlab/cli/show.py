"""`flexlab demo` and `flexlab bench`: the laboratory shows itself."""

from __future__ import annotations

from pathlib import Path

import click

from flexlab.bench import measure_agent, measure_floor, render_table, save_json
from flexlab.cli.context import CLOCK, watch
from flexlab.cli.render import render_status
from flexlab.cluster import Request, bring_up, observe, take_down
from flexlab.demo import LAB, Show
from flexlab.model import Suite
from flexlab.parts import available_kubernetes

BENCH_LAB = "bench"

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


@click.command(short_help="Measure a node by hand, and one with kubeadm.")
@click.option(
    "--rounds",
    default=3,
    show_default=True,
    type=click.IntRange(1, 20),
    help="How often to measure; the median counts.",
)
@click.option("--json", "target", type=click.Path(path_type=Path), help="Write the figures there too.")
@click.option("--keep", is_flag=True, help="Leave the benchmark's lab up.")
def bench(rounds: int, target: Path | None, keep: bool) -> None:
    """Measure the agent beside a node made by hand, and beside kubeadm."""
    request = Request(name=BENCH_LAB, nodes=0, suite=Suite.BOOKWORM, kubernetes=available_kubernetes()[0])
    try:
        with watch() as progress:
            lab = bring_up(request, progress, CLOCK)
            measurements = measure_floor(lab, rounds, progress, CLOCK)
            measurements += measure_agent(lab, rounds, progress, CLOCK, measurements)
    finally:
        if not keep:
            take_down(BENCH_LAB, CLOCK)
    click.echo(render_table(measurements))
    if target:
        save_json(measurements, target)
        click.echo(f"written to {target}")
