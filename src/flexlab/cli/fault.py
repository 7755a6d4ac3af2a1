"""`flexlab fault`: break things on purpose."""

from __future__ import annotations

import click
import msgspec

from flexlab import network, process
from flexlab.artifact_server import add_fault, clear_faults, parse_fault
from flexlab.cli.context import CLOCK, with_lab, with_node
from flexlab.gateway import DnsFault, GatewayFaults, ProxyFault, load_faults, save_faults
from flexlab.lab import Lab
from flexlab.model import API_SERVER, NodeSpec
from flexlab.network import Impairment
from flexnode.errors import UsageError


@click.group("fault", short_help="Break things on purpose, and mend them again.")
def fault_group() -> None:
    """Break the network, the names, the proxy or the artifact server; `clear` mends everything."""


@fault_group.command()
@with_node
@click.option("--delay", default=0.0, metavar="MS", help="Delay each frame by so many milliseconds.")
@click.option("--jitter", default=0.0, metavar="MS", help="Vary the delay by up to so much.")
@click.option("--loss", default=0.0, metavar="PERCENT", type=click.FloatRange(0, 100), help="Lose frames.")
def line(lab: Lab, node: NodeSpec, delay: float, jitter: float, loss: float) -> None:
    """Make a machine's line slow or lossy, in both directions."""
    if not (delay or jitter or loss):
        raise UsageError("say what is wrong with the line", hint="give --delay, --jitter or --loss")
    network.impair(lab, node, Impairment(delay_ms=delay, jitter_ms=jitter, loss_percent=loss), CLOCK)


@fault_group.command(short_help="Cut a machine's line; its carrier stays.")
@with_node
def cut(lab: Lab, node: NodeSpec) -> None:
    """Cut a machine's line; its carrier stays, nothing gets through."""
    network.impair(lab, node, Impairment(loss_percent=100), CLOCK)


@fault_group.command(short_help="Keep a machine apart from others, or from the API server.")
@with_node
@click.option(
    "--from", "others", multiple=True, required=True, metavar="NODE|api", help="Whom it cannot reach."
)
def partition(lab: Lab, node: NodeSpec, others: tuple[str, ...]) -> None:
    """Keep a machine and its pods apart from other machines (with their pods), or from the API server."""
    routes = process.run(lab.require_place(), ("ip", "route")).text
    blocked: list[str] = []
    for other in others:
        if other == "api":
            blocked.append(f"{API_SERVER}/32")
            continue
        address = str(lab.spec.node(other).address)
        blocked.append(f"{address}/32")
        words = [route.split() for route in routes.splitlines()]
        blocked += [word[0] for word in words if word[1:3] == ["via", address]]
    network.impair(lab, node, Impairment(blocked=tuple(blocked)), CLOCK)


@fault_group.command()
@with_lab
@click.argument("how", type=click.Choice([fault.value for fault in DnsFault]))
def dns(lab: Lab, how: str) -> None:
    """Make every name of the lab fail to resolve."""
    _change(lab, dns=DnsFault(how))


@fault_group.command(short_help="Make the lab's HTTP proxy fail.")
@with_lab
@click.argument("how", type=click.Choice([fault.value for fault in ProxyFault]))
def proxy(lab: Lab, how: str) -> None:
    """Make the lab's HTTP proxy close connections, or ask for a password."""
    _change(lab, proxy=ProxyFault(how))


@fault_group.command()
@with_lab
def metadata(lab: Lab) -> None:
    """Make the metadata service answer 503."""
    _change(lab, metadata=True)


@fault_group.command(
    context_settings={"ignore_unknown_options": True}, short_help="Make the lab's time server be wrong."
)
@with_lab
@click.argument("seconds", type=float)
def clock(lab: Lab, seconds: float) -> None:
    """Make the lab's time server be wrong by so many seconds."""
    _change(lab, clock_seconds=seconds)


@fault_group.command()
@with_lab
@click.argument("kind")
@click.argument("settings", nargs=-1, metavar="[SETTING=VALUE]...")
def artifacts(lab: Lab, kind: str, settings: tuple[str, ...]) -> None:
    """Make the artifact server misbehave.

    KIND is flip-bit, truncate, stall, slow, reset, not-found, throttle, captive-portal or bad-tls; each has
    settings of its own (`path=`, `times=`, `status=` …), and a wrong one is answered with those there are.
    """
    pairs = [setting.partition("=") for setting in settings]
    if not all(separator for _, separator, _ in pairs):
        raise UsageError("a setting has the form NAME=VALUE", hint="for example: throttle status=503")
    fault = add_fault(lab.faults, parse_fault(kind, {name: value for name, _, value in pairs}))
    click.echo(f"on, with id {fault.id}")


@fault_group.command()
@with_lab
def clear(lab: Lab) -> None:
    """Mend everything that `flexlab fault` broke."""
    for node in lab.spec.nodes:
        if network.find_impairment(lab, node):
            network.mend(lab, node)
    save_faults(lab.gateway, GatewayFaults())
    clear_faults(lab.faults)


def _change(lab: Lab, **faults: object) -> None:
    save_faults(lab.gateway, msgspec.structs.replace(load_faults(lab.gateway), **faults))
