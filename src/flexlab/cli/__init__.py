"""`flexlab`: a laboratory of real machines, from the command line."""

from __future__ import annotations

import click

from flexlab.cli.bench import bench
from flexlab.cli.fault import fault_group
from flexlab.cli.lifecycle import control_plane_group, down, kubectl, logs, prepare, status, up
from flexlab.cli.node import node_group
from flexlab.cli.show import demo
from flexnode.cli.ending import end_with


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def group() -> None:
    """A real control plane, real machines and a real network, with one command.

    Needs root. Everything a lab has lies in one folder, its processes carry its mark; `down` leaves nothing.
    """


for command in (
    up,
    prepare,
    down,
    status,
    node_group,
    kubectl,
    control_plane_group,
    fault_group,
    logs,
    demo,
    bench,
):
    group.add_command(command)


def main() -> None:
    end_with(group, "flexlab")
