"""The agent of this machine, put together from real parts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from flexnode.agent.board import Board
from flexnode.agent.daemon import Agent
from flexnode.agent.doorbell import Doorbell
from flexnode.agent.herald import Herald
from flexnode.agent.inputs import Inputs, Load
from flexnode.agent.memory import Memory
from flexnode.agent.notify import Notifier
from flexnode.agent.operate import Interrupt, Operator
from flexnode.agent.pulse import Pulse
from flexnode.agent.standing import Standings
from flexnode.agent.telling import Telling
from flexnode.agent.watch import open_watch
from flexnode.agent.work import Flows, has_grown
from flexnode.clock import SystemClock
from flexnode.flows.cluster_facts import make_proxies
from flexnode.flows.log import Log, Logged
from flexnode.flows.node_api import make_connect
from flexnode.flows.status import AGENT_LOCK, RUN_ROOT
from flexnode.flows.workplace import Workplace
from flexnode.generation.digest_memory import recall_digests
from flexnode.generation.directory import StateDirectory
from flexnode.generation.lock import hold
from flexnode.host import LiveHost
from flexnode.kube import KubeClient
from flexnode.kube.kubelet_health import find_kubelet_fault
from flexnode.model.spec import AgentSpec, NodeSpec


@contextmanager
def open_agent(
    load: Load, path: Path | None, *, environ: Mapping[str, str], stream: TextIO, level: str = ""
) -> Iterator[Agent]:
    """`level`: what to log, over what the configuration says. One agent at a time: another one is busy."""
    clock, directory = SystemClock(), StateDirectory()
    log = Log(stream)
    first = AgentSpec()
    log.open(first.log_directory, level or first.log_level)
    board, bell = Board(), Doorbell()
    board.prepare()
    notifier = Notifier.from_environment(environ)
    pulse = Pulse(notifier=notifier, clock=clock)
    inputs = Inputs(load=load, path=path)
    herald = Herald(clock=clock, beat=pulse.beat)
    interrupt = Interrupt(bell=bell, inputs=inputs, pulse=pulse, clock=clock)
    telling = Telling(notifier=notifier, pulse=pulse, clock=clock)
    digests = recall_digests(directory, clock)
    host = LiveHost(clock=clock, digests=digests)
    workplace = Workplace(
        host=host,
        clock=clock,
        directory=directory,
        digests=digests,
        progress=Logged(progress=telling, clock=clock),
        stop=interrupt,
    )
    operator = Operator(
        work=Flows(workplace=workplace),
        interrupt=interrupt,
        pulse=pulse,
        clock=clock,
        herald=herald,
        chance=random.random,
    )

    def connect(spec: NodeSpec | None) -> KubeClient:
        return make_connect(host, clock, make_proxies(spec) if spec else None)()

    agent = Agent(
        host=host,
        clock=clock,
        inputs=inputs,
        standings=Standings(directory=directory),
        operator=operator,
        memory=Memory(directory, clock),
        herald=herald,
        board=board,
        bell=bell,
        pulse=pulse,
        notifier=notifier,
        config_watch=open_watch(),
        managed_watch=open_watch(),
        connect=connect,
        find_kubelet_fault=find_kubelet_fault,
        open_log=lambda spec: log.open(spec.log_directory, level or spec.log_level),
        has_grown=has_grown,
    )
    telling.told = agent.show_work
    with hold(RUN_ROOT / AGENT_LOCK, "agent", clock=clock), bell.hung_up():
        yield agent
