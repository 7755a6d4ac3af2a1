"""`aks-flex-node plan`: what an operation would change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
import msgspec

from flexnode.cli.config import ConfigChoice, config_options
from flexnode.cli.operation import open_workplace
from flexnode.cli.output import CHANGES, emit, verb_options

if TYPE_CHECKING:
    from flexnode.generation.plan import Plan


@click.command()
@click.argument(
    "operation", type=click.Choice(["bootstrap", "unbootstrap"]), default="bootstrap", required=False
)
@click.option("--prepare", is_flag=True, help="Of bootstrap only what needs no cluster.")
@config_options
@verb_options
def plan(operation: str, prepare: bool, config: ConfigChoice, output: str) -> int:
    """Show what bootstrap (or unbootstrap) would change, and what that costs the node. Nothing is changed.

    Exit code 0: nothing to do; 10: changes.
    """
    from flexnode.flows.planning import plan_bootstrap, plan_preparation, plan_unbootstrap

    if prepare and operation != "bootstrap":
        raise click.UsageError("--prepare is a part of bootstrap")
    with open_workplace() as workplace:
        if prepare:
            found = plan_preparation(config.load(complete=False), workplace)
        elif operation == "bootstrap":
            found = plan_bootstrap(config.load(), workplace)
        else:
            found = plan_unbootstrap(workplace)
    emit(output, text=render_plan(found), data=plan_data(found))
    return CHANGES if found.changes else 0


def render_plan(plan: Plan) -> str:
    """One line for each change, then what has to restart, then what it costs."""
    from flexnode.resources.describe import describe_change

    if not plan.changes:
        return "nothing to do"
    lines = [f"  {describe_change(change)}" for change in plan.changes]
    if plan.restarts:
        lines.append(f"  restart {', '.join(plan.restarts)}")
    if plan.reloads:
        lines.append(f"  reload {', '.join(plan.reloads)}")
    lines += [f"  keep {path}: it was edited" for path in plan.kept]
    lines.append(f"{len(plan.changes)} changes, disruption: {plan.disruption}")
    return "\n".join(lines)


def plan_data(plan: Plan) -> dict[str, Any]:
    from flexnode.resources.describe import describe_change

    data: dict[str, Any] = msgspec.to_builtins(plan)
    data["disruption"] = str(plan.disruption)
    data["changes"] = [
        {"key": change.key, "summary": describe_change(change), "disruption": str(change.disruption)}
        for change in plan.changes
    ]
    return data
