"""`flexlab bench`: how fast, how small, how quiet."""

from __future__ import annotations

from pathlib import Path

import click

from flexlab.bench import PARTS, Measurement, measure, render_line, render_table, save_json
from flexlab.cli.context import CLOCK, watch
from flexlab.cli.stopping import ending_with
from flexlab.cluster import Request, bring_up, take_down
from flexlab.lab import Lab
from flexlab.model import Suite
from flexlab.parts import available_kubernetes

BENCH_LAB = "bench"


@click.command(short_help="Measure the agent beside kubeadm and a node by hand.")
@click.option(
    "--rounds",
    default=3,
    show_default=True,
    type=click.IntRange(1, 20),
    help="How often to measure what is measured in turns; the median counts.",
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(PARTS),
    help="Measure this part; can be given several times. What other parts would tell is not compared with.",
)
@click.option("--json", "target", type=click.Path(path_type=Path), help="Write the figures there too.")
@click.option(
    "--timeline", type=click.Path(path_type=Path), help="Draw there, as SVG, how a stock machine gets Ready."
)
@click.option("--keep", is_flag=True, help="Leave the benchmark's lab up.")
def bench(rounds: int, only: tuple[str, ...], target: Path | None, timeline: Path | None, keep: bool) -> None:
    """Measure the agent beside kubeadm and a node that was made by hand.

    A figure that misses its bar is marked, and is no failure. Interrupted, it tells what it knows by then;
    its lab ends in any case.
    """
    found: list[Measurement] = []

    def end() -> None:
        if not keep:
            take_down(BENCH_LAB, CLOCK)
        if found:
            click.echo(render_table(found))
            if target:
                save_json(found, target)
                click.echo(f"written to {target}")

    with ending_with(end), watch() as progress:

        def start_lab() -> Lab:
            kubernetes = available_kubernetes()[0]
            request = Request(name=BENCH_LAB, nodes=0, suite=Suite.BOOKWORM, kubernetes=kubernetes)
            return bring_up(request, progress, CLOCK)

        figures = measure(only or PARTS, start_lab, progress, CLOCK, rounds=rounds, timeline=timeline)
        for measurement in figures:
            found.append(measurement)
            progress.note(render_line(measurement))
