"""`flexlab demo` and `flexlab bench`: the laboratory shows itself."""

from __future__ import annotations

from pathlib import Path

import click

from flexlab import machine
from flexlab.bench import measure_floor, render_table, save_json
from flexlab.cli.context import CLOCK, watch
from flexlab.cli.render import render_status
from flexlab.cluster import Request, bring_up, observe, parts_of, take_down
from flexlab.control_plane import run_kubectl
from flexlab.model import Suite
from flexlab.parts import available_kubernetes

DEMO_LAB = "demo"
BENCH_LAB = "bench"

NEXT = f"""
The lab stays up. What to try next:
  flexlab kubectl --name {DEMO_LAB} get all -A            ask the cluster
  flexlab node exec --name {DEMO_LAB} node1               a shell on the machine
  flexlab node add --name {DEMO_LAB} --suite trixie       another machine
  flexlab fault line --name {DEMO_LAB} node1 --loss 30    a bad line
  flexlab down --name {DEMO_LAB}                          take it all away
(`source .venv/bin/activate` puts flexlab on your PATH.)"""


@click.command()
def demo() -> None:
    """Bring up a cluster and one stock machine, and show both."""
    request = Request(name=DEMO_LAB, nodes=1, suite=Suite.BOOKWORM, kubernetes=available_kubernetes()[0])
    with watch() as progress:
        lab = bring_up(request, progress, CLOCK)
    click.echo(render_status(observe(lab)))
    parts = parts_of(lab)
    for arguments in (("version",), ("get", "namespaces,daemonsets", "-A")):
        click.echo(f"\n$ flexlab kubectl --name {DEMO_LAB} {' '.join(arguments)}")
        click.echo(run_kubectl(lab, parts, *arguments).text.rstrip())
    for command in ("uname -sr", "grep PRETTY_NAME /etc/os-release", "systemctl is-system-running"):
        node = lab.spec.nodes[0]
        click.echo(f"\n$ flexlab node exec --name {DEMO_LAB} {node.name} {command}")
        done = machine.run(lab, node, tuple(command.split()), timeout=60, expect=(0, 1))
        click.echo(done.text.rstrip())
    click.echo(NEXT)


@click.command()
@click.option(
    "--rounds", default=3, show_default=True, type=click.IntRange(1, 20), help="Medians of so many."
)
@click.option("--json", "target", type=click.Path(path_type=Path), help="Write the figures there too.")
@click.option("--keep", is_flag=True, help="Leave the benchmark's lab up.")
def bench(rounds: int, target: Path | None, keep: bool) -> None:
    """Measure the laboratory's floor: a node by hand, and with kubeadm."""
    request = Request(name=BENCH_LAB, nodes=0, suite=Suite.BOOKWORM, kubernetes=available_kubernetes()[0])
    try:
        with watch() as progress:
            lab = bring_up(request, progress, CLOCK)
            measurements = measure_floor(lab, rounds, progress, CLOCK)
    finally:
        if not keep:
            take_down(BENCH_LAB, CLOCK)
    click.echo(render_table(measurements))
    if target:
        save_json(measurements, target)
        click.echo(f"written to {target}")
