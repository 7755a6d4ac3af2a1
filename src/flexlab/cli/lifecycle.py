"""`flexlab up`, `prepare`, `down`, `status`, `logs`, `kubectl` and `control-plane`: a lab as a whole."""

from __future__ import annotations

import sys
from collections import deque

import click

from flexlab import control_plane
from flexlab.cli.context import CLOCK, DEFAULT_LAB, name_option, output_option, show, watch, with_lab
from flexlab.cli.render import render_status
from flexlab.cluster import Request, bring_up, list_remains, make_supplies, observe, parts_of, take_down
from flexlab.lab import Lab, list_labs, require_lab
from flexlab.model import Suite
from flexlab.parts import available_kubernetes
from flexnode.errors import UsageError

kubernetes_option = click.option(
    "--kubernetes",
    type=click.Choice(available_kubernetes()),
    default=available_kubernetes()[0],
    show_default=True,
    help="The cluster's version.",
)


@click.command()
@name_option
@click.option("--nodes", default=1, show_default=True, type=click.IntRange(0, 20), help="How many machines.")
@click.option(
    "--suite",
    type=click.Choice([suite.value for suite in Suite]),
    default=Suite.BOOKWORM.value,
    show_default=True,
    help="The machines' Debian release.",
)
@kubernetes_option
@output_option
def up(name: str, nodes: int, suite: str, kubernetes: str, output: str) -> None:
    """Bring up a cluster and stock machines beside it.

    The first run builds what cannot be downloaded and takes minutes; later ones take half a minute. Safe to
    repeat: what runs is left alone, what is missing is added.
    """
    request = Request(name=name, nodes=nodes, suite=Suite(suite), kubernetes=kubernetes)
    with watch() as progress:
        lab = bring_up(request, progress, CLOCK)
    status = observe(lab)
    show(status, render_status(status), output)


@click.command(short_help="Build what labs run from, ahead of time.")
@click.option(
    "--suite",
    "suites",
    multiple=True,
    type=click.Choice([suite.value for suite in Suite]),
    default=[Suite.BOOKWORM.value],
    show_default=True,
    help="A Debian release to make a base image of; may be given more than once.",
)
@kubernetes_option
def prepare(suites: tuple[str, ...], kubernetes: str) -> None:
    """Build the parts, container images and base images that labs run from, where they are missing.

    `up` does so by itself; this is for a moment at which nobody waits. What is built lies outside of any lab.
    """
    with watch() as progress:
        make_supplies(kubernetes, {Suite(suite) for suite in suites}, progress)


@click.command(short_help="End a lab and delete all that it has.")
@name_option
@click.option("--all", "every", is_flag=True, help="Every lab on this machine.")
def down(name: str, every: bool) -> None:
    """End a lab and delete all that it has: processes, network, disks."""
    for lab in list_remains() if every else [name]:
        with watch() as progress, progress.step(f"end lab {lab}"):
            if not take_down(lab, CLOCK):
                progress.note("there was nothing of it")


@click.command()
@click.option("--name", metavar="LAB", help=f"Which lab (default: {DEFAULT_LAB}, or every one with --all).")
@click.option("--all", "every", is_flag=True, help="Every lab on this machine.")
@output_option
def status(name: str | None, every: bool, output: str) -> None:
    """Show what runs, and where it can be reached."""
    names = list_labs() if every else [name or DEFAULT_LAB]
    found = [observe(require_lab(lab)) for lab in names]
    text = "\n\n".join(render_status(one) for one in found) or "there is no lab on this machine"
    show(found if every else found[0], text, output)


@click.command()
@with_lab
@click.argument("process_name", metavar="[PROCESS]", required=False)
@click.option("--lines", default=50, show_default=True, help="How many lines of each log, from its end.")
def logs(lab: Lab, process_name: str | None, lines: int) -> None:
    """Show the logs of the lab's processes, or of one of them."""
    paths = sorted((lab.folder / "logs").glob("*.log"))
    known = [path.stem for path in paths]
    if process_name and process_name not in known:
        raise UsageError(
            f"there is no log of {process_name}",
            code="lab/no-such-log",
            hint=f"there are: {', '.join(known) or 'none yet'}",
        )
    for path in paths:
        if process_name in {None, path.stem}:
            if not process_name:
                click.echo(f"==> {path.stem} <==")
            with path.open(errors="replace") as log:
                click.echo("".join(deque(log, maxlen=lines)), nl=False)


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    short_help="Run kubectl against the lab's cluster.",
)
@with_lab
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def kubectl(lab: Lab, arguments: tuple[str, ...]) -> None:
    """Run kubectl against the lab's cluster as its administrator: `flexlab kubectl --name L get nodes`."""
    sys.exit(control_plane.attach_kubectl(lab, parts_of(lab), *arguments))


@click.group("control-plane", short_help="Stop, start and restart the control plane.")
def control_plane_group() -> None:
    """Stop, start and restart the control plane, or one component of it."""


component_argument = click.argument(
    "components",
    nargs=-1,
    metavar="[COMPONENT]...",
    type=click.Choice(control_plane.COMPONENTS),
)


@control_plane_group.command("stop", short_help="Stop all components, or those named.")
@with_lab
@component_argument
def stop_components(lab: Lab, components: tuple[str, ...]) -> None:
    """Stop all components, or those named; machines keep running."""
    stopped = control_plane.stop(lab, components or control_plane.COMPONENTS)
    click.echo(f"stopped: {', '.join(daemon.name for daemon in stopped) or 'nothing was running'}")


@control_plane_group.command("start", short_help="Start all components, or those named.")
@with_lab
@component_argument
def start_components(lab: Lab, components: tuple[str, ...]) -> None:
    """Start all components, or those named; returns when the API server is ready."""
    seconds = control_plane.start(lab, parts_of(lab), CLOCK, components or control_plane.COMPONENTS)
    click.echo(f"ready after {seconds:.1f} s" if seconds else "started")


@control_plane_group.command("restart")
@with_lab
@component_argument
@click.pass_context
def restart_components(context: click.Context, lab: Lab, components: tuple[str, ...]) -> None:
    """Stop and start."""
    context.invoke(stop_components, name=lab.name, components=components)
    context.invoke(start_components, name=lab.name, components=components)
