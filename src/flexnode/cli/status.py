"""`aks-flex-node status`: how the node is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from flexnode.cli.config import ConfigChoice, config_options
from flexnode.cli.output import CHANGES, emit, verb_options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from flexnode.flows.status import AgentStatus, LastOperation, NodeStatus, Timing
    from flexnode.generation.plan import Plan

_FORM = "%Y-%m-%d %H:%M:%S UTC"
_NAME = 12


@click.command()
@click.option(
    "--check",
    is_flag=True,
    help="Compare the machine with its generation now, and do not rely on the agent's last look. Needs root.",
)
@config_options
@verb_options
def status(check: bool, config: ConfigChoice, output: str) -> int:
    """Show what runs, which generation, what differs from it, and how the last operation went.

    It is read from what operations and the agent leave behind, so that it works without an agent, and as far
    as it can be read without root. Exit code 0 whatever it shows; with --check, 10 if something differs.
    """
    from flexnode.flows.status import read_status

    found = read_status()
    plan = _compare(config) if check else None
    data = msgspec.to_builtins(found)
    if plan is not None:
        data["check"] = [change.key for change in plan.changes]
    emit(output, text=render_status(found, plan) if output == "text" else "", data=data)
    return CHANGES if plan is not None and plan.changes else 0


def render_status(found: NodeStatus, plan: Plan | None = None) -> str:
    """A line for each thing that there is something to say about."""
    return "\n".join(f"{name:<{_NAME}}{text}".rstrip() for name, text in _lines(found, plan))


def _lines(found: NodeStatus, plan: Plan | None) -> Iterator[tuple[str, str]]:
    yield from _describe_node(found)
    yield from _describe_agent(found)
    yield from _describe_work(found)
    yield from _describe_differences(found.agent, plan)
    yield from _describe_past(found)
    for path in found.unreadable:
        yield "unreadable", f"{path}: run this as root to see more, or it is damaged"


def _describe_node(found: NodeStatus) -> Iterator[tuple[str, str]]:
    agent, state = found.agent, found.state
    desired = (state.desired if state else agent.desired if agent else "") or ""
    current = (state.current if state else agent.generation if agent else "") or ""
    if desired == "left":
        yield (
            "node",
            "this machine left its cluster" if not current else "this machine is leaving its cluster",
        )
    elif current and _is_prepared(found):
        yield "node", f"prepared, in no cluster yet, generation {current}"
    elif current:
        yield "node", f"{agent.node if agent and agent.node else 'joined'}, generation {current}"
    else:
        yield "node", "this machine is no node"
    if state is not None and state.cordoned:
        yield "cordoned", "for a change; it takes pods again once it is Ready"
    if state is not None and state.previous and found.can_roll_back:
        yield "previous", f"generation {state.previous}; `aks-flex-node rollback` goes back to it"
    for identity, why in sorted((state.rejected if state else {}).items(), key=lambda item: item[1].when):
        yield "rejected", f"generation {identity}, {_date(why.when)}: {why.reason}"


def _is_prepared(found: NodeStatus) -> bool:
    if found.prepared is not None:
        return found.prepared
    return found.agent is not None and found.agent.prepared


def _describe_agent(found: NodeStatus) -> Iterator[tuple[str, str]]:
    agent = found.agent
    if found.agent_runs is False:
        yield "agent", "does not run: systemctl start aks-flex-node-agent"
        return
    if agent is None:
        yield "agent", "has not said anything yet" if found.agent_runs else "cannot be told"
        return
    yield "agent", f"{agent.phase}: {agent.message}"
    yield "", f"version {agent.version}, process {agent.pid}, as of {_date(agent.updated)}"
    if agent.failure is not None:
        yield "failure", f"{agent.failure.code} ({agent.failure.kind}): {agent.failure.message}"
        if agent.failure.hint:
            yield "", f"next: {agent.failure.hint}"
        if agent.retry_at is not None:
            yield "", f"tried again at {_date(agent.retry_at)}"
    for fault in agent.faults.values():
        yield "health", fault
    if agent.needs:
        yield "waiting", f"a change of the configuration needs a {agent.needs}: its pods have to go first"
    for advice in agent.advice:
        yield "to do", advice


def _describe_work(found: NodeStatus) -> Iterator[tuple[str, str]]:
    if found.busy is not None:
        since = f", since {_date(found.busy.since)}" if found.busy.since else ""
        yield "running", f"{found.busy.operation}, process {found.busy.pid}{since}"
    elif found.unfinished:
        yield "unfinished", "an operation was cut off; the agent ends it, or `aks-flex-node recover --now`"


def _describe_differences(agent: AgentStatus | None, plan: Plan | None) -> Iterator[tuple[str, str]]:
    if plan is not None:
        keys = [change.key for change in plan.changes]
        yield "drift", ", ".join(keys) or "none, compared just now"
    elif agent is not None and (agent.drift or agent.checked):
        keys = list(agent.drift)
        looked = f", compared at {_date(agent.checked)}" if agent.checked else ""
        yield "drift", (", ".join(keys) or "none") + looked


def _describe_past(found: NodeStatus) -> Iterator[tuple[str, str]]:
    provision, last = found.provision, found.last
    if provision is not None:
        took = (provision.ended - provision.started).total_seconds()
        yield provision.operation, f"{provision.result}, {_date(provision.ended)}, {took:.1f} s"
        if provision.code != "ok":
            yield "", f"{provision.code}: {provision.message}"
        yield from _describe_timings(provision.timings)
    if last is not None and (provision is None or last.operation != provision.operation):
        took = (last.ended - last.started).total_seconds()
        yield "last", f"{last.operation}, {_tell_end(last)}{_date(last.ended)}, {took:.1f} s"
        yield from _describe_timings(last.timings)


def _tell_end(last: LastOperation) -> str:
    where = "" if last.outcome in ("", "end") else f"{last.outcome} at {last.step}, "
    if not last.result or (last.result == "failed" and where):
        return where
    return f"{last.result}, {where}"


def _describe_timings(timings: tuple[Timing, ...]) -> Iterator[tuple[str, str]]:
    seconds: dict[str, float] = {}
    for timing in timings:
        seconds[timing.name] = seconds.get(timing.name, 0.0) + timing.seconds
    if seconds:
        yield "", ", ".join(f"{name} {total:.1f} s" for name, total in seconds.items())


def _date(moment: datetime) -> str:
    return moment.strftime(_FORM)


def _compare(config: ConfigChoice) -> Plan:
    from flexnode.cli.operation import open_workplace
    from flexnode.errors import ConfigError
    from flexnode.flows.keeping import find_differences

    try:
        spec = config.load(complete=False).spec
    except ConfigError:
        spec = None  # a broken configuration keeps nobody from looking; files with secrets may need it
    with open_workplace() as workplace:
        return find_differences(workplace, spec=spec)
