"""`flexlab node`: single machines."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from flexlab import machine, node_agent
from flexlab.cli.context import CLOCK, output_option, show, watch, with_lab, with_node
from flexlab.cluster import add_node, remove_node, start_node
from flexlab.lab import Lab
from flexlab.model import NodeSpec, Suite
from flexlab.node_agent import Terminal
from flexlab.parts import available_kubernetes, ensure_parts


@click.group("node")
def node_group() -> None:
    """Add, boot, break and enter machines."""


@node_group.command()
@with_lab
@click.argument("node_name", metavar="[NODE]", required=False)
@click.option(
    "--suite",
    type=click.Choice([suite.value for suite in Suite]),
    help="Its Debian release.  [default: the lab's]",
)
@output_option
def add(lab: Lab, node_name: str | None, suite: str | None, output: str) -> None:
    """Add a stock machine and boot it."""
    with watch() as progress:
        _, node = add_node(lab, node_name, Suite(suite or lab.spec.suite), progress, CLOCK)
    show(node, f"{node.name} answers at {node.address}", output)


@node_group.command("rm")
@with_node
def remove(lab: Lab, node: NodeSpec) -> None:
    """Cut a machine's power and delete it with its disk."""
    remove_node(lab, node)
    click.echo(f"{node.name} is gone")


@node_group.command()
@with_node
def start(lab: Lab, node: NodeSpec) -> None:
    """Power a machine on; returns when it answers over SSH."""
    with watch() as progress:
        start_node(lab, node, progress, CLOCK)


@node_group.command()
@with_node
def stop(lab: Lab, node: NodeSpec) -> None:
    """Shut a machine down as its power button does."""
    with watch() as progress, progress.step(f"shut {node.name} down"):
        machine.power_off(lab, node, CLOCK)


@node_group.command(short_help="Reboot a machine from within.")
@with_node
def reboot(lab: Lab, node: NodeSpec) -> None:
    """Reboot a machine from within; returns when it answers over SSH again."""
    with watch() as progress, progress.step(f"reboot {node.name}"):
        machine.reboot(lab, node, CLOCK)


@node_group.command("power-cut", short_help="Cut a machine's power at once.")
@with_node
def power_cut(lab: Lab, node: NodeSpec) -> None:
    """Cut a machine's power at once; its disk stays as it was at that moment."""
    machine.power_cut(lab, node)
    click.echo(f"{node.name} is without power; `flexlab node start {node.name}` gives it back")


@node_group.command(short_help="Make a machine a node with the product.")
@with_node
@click.option(
    "--kubernetes",
    type=click.Choice(available_kubernetes()),
    help="The node's version, not newer than the cluster's.  [default: the cluster's]",
)
@click.option("--prepare-only", is_flag=True, help="Install and configure, and leave the start to you.")
def join(lab: Lab, node: NodeSpec, kubernetes: str | None, prepare_only: bool) -> None:
    """Make a machine a node with the product, and show each command as a user would type it.

    Returns when the cluster says that the node is Ready. Safe to repeat.
    """
    with watch() as progress:
        version = kubernetes or lab.spec.kubernetes
        with progress.step(f"parts of Kubernetes {version}"):
            parts = ensure_parts(version, progress=progress)
        terminal = Terminal(lab=lab, node=node, progress=progress)
        if prepare_only:
            node_agent.prepare(terminal, parts)
        else:
            seconds = node_agent.join(terminal, parts, CLOCK)
    if prepare_only:
        click.echo(f"next, on {node.name}: systemctl enable --now aks-flex-node-agent")
    else:
        click.echo(f"{node.name} is Ready, {seconds:.1f} s after its agent was started")


@node_group.command(short_help="Make a node a stock machine again.")
@with_node
def leave(lab: Lab, node: NodeSpec) -> None:
    """Take a node out of the cluster and the product off the machine, as a user would."""
    with watch() as progress:
        node_agent.leave(Terminal(lab=lab, node=node, progress=progress))
    click.echo(f"{node.name} is a stock machine again")


@node_group.command()
@with_node
def console(lab: Lab, node: NodeSpec) -> None:
    """Attach to a machine's serial console; Ctrl-] leaves it."""
    sys.exit(machine.attach_console(lab, node))


@node_group.command(
    "exec",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Run a command on a machine as root, or a shell.",
)
@with_node
@click.option("--timeout", default=600.0, show_default=True, help="Seconds until the command is given up.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND]...")
def execute(lab: Lab, node: NodeSpec, timeout: float, arguments: tuple[str, ...]) -> None:
    """Run a command on a machine as root, with its exit code; without a command, a shell."""
    if arguments[:1] == ("--",):  # it ends the options of flexlab, and is no part of the command
        arguments = arguments[1:]
    if not arguments:
        sys.exit(machine.attach_shell(lab, node))
    stdin = b"" if sys.stdin.isatty() else sys.stdin.buffer.read()
    done = machine.run(lab, node, arguments, timeout=timeout, stdin=stdin, expect=tuple(range(255)))
    sys.stdout.buffer.write(done.stdout)
    sys.stderr.buffer.write(done.stderr)
    sys.exit(done.returncode)


@node_group.command()
@with_node
@click.argument("source", type=click.Path(exists=True, path_type=Path))
@click.argument("target")
def push(lab: Lab, node: NodeSpec, source: Path, target: str) -> None:
    """Copy a file or folder to a machine."""
    machine.push(lab, node, source, target)


@node_group.command()
@with_node
@click.argument("source")
@click.argument("target", type=click.Path(path_type=Path))
def pull(lab: Lab, node: NodeSpec, source: str, target: Path) -> None:
    """Copy a file or folder from a machine."""
    machine.pull(lab, node, source, target)


@node_group.command(short_help="Remember a machine as it is.")
@with_node
@click.argument("snapshot_name", metavar="NAME")
def snapshot(lab: Lab, node: NodeSpec, snapshot_name: str) -> None:
    """Remember a machine as it is: its disk and, while it runs, its memory."""
    machine.snapshot(lab, node, snapshot_name)


@node_group.command()
@with_node
@click.argument("snapshot_name", metavar="NAME")
def restore(lab: Lab, node: NodeSpec, snapshot_name: str) -> None:
    """Bring a machine back to a snapshot."""
    machine.restore(lab, node, snapshot_name)
