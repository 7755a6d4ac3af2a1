"""A node of the small world in its user's hands: verbs with their exit codes, and the daemon.

What is broken is real where it can be: the sources are an HTTP server, the cluster answers over TLS. What a
test then sees is what the user sees: an exit code, a record on stdout, words on stderr, a status file.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from flexnode.agent.board import Board
from flexnode.agent.daemon import Agent
from flexnode.agent.herald import Herald
from flexnode.agent.inputs import Inputs
from flexnode.agent.memory import Memory
from flexnode.agent.notify import Notifier
from flexnode.agent.operate import Interrupt, Operator
from flexnode.agent.pulse import Pulse
from flexnode.agent.standing import Standings
from flexnode.agent.work import Flows
from flexnode.cli.ending import run
from flexnode.cli.root import root
from flexnode.config import load_config
from flexnode.flows.node_api import make_connect
from flexnode.flows.records import Provision, find_provision
from flexnode.flows.status import STATUS_FILE, AgentStatus
from flexnode.kube import KubeClient
from flexnode.model.spec import NodeSpec
from unit.agent.samples import FakeBell, FakeWatch
from unit.flows.world import World, open_world

TRANSIENT, TERMINAL = 75, 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How a verb ended, as its caller sees it."""

    status: int
    err: str
    data: dict[str, Any]

    @property
    def failure(self) -> dict[str, str]:
        """What it says went wrong; of an outcome or in place of one."""
        found: dict[str, str] | None = self.data.get("error") or self.data.get("failure")
        return found or {}

    @property
    def code(self) -> str:
        return self.failure.get("code", "")

    @property
    def kind(self) -> str:
        return self.failure.get("kind", "")


@dataclass
class Scene:
    """One machine. Each verb is a new process to it; the daemon is one until `boot` starts another."""

    world: World
    sections: dict[str, Any] = field(default_factory=dict)
    _agent: Agent | None = None

    @property
    def config(self) -> Path:
        return self.world.folder / "etc" / "config.json"

    def configure(self, **sections: Any) -> None:
        """The user edits the configuration."""
        self.sections = {**self.sections, **sections}
        folder = self.config.parent
        folder.mkdir(exist_ok=True)
        draft = folder / ".draft"
        draft.touch(mode=0o600)
        draft.write_text(json.dumps({**self.world.config, **self.sections}))
        draft.rename(self.config)
        if self._agent is not None:
            self.heard.touched.add(str(self.config))

    def type(self, verb: str, *words: str) -> Ended:
        if not self.config.exists():
            self.configure()
        arguments = [verb, *words, "--output", "json", "--config", str(self.config)]
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            status = run(root, "aks-flex-node", arguments, given=self.world.workplace)
        text = out.getvalue()
        return Ended(status=status, err=err.getvalue(), data=json.loads(text) if text else {})

    def join(self) -> None:
        assert self.type("bootstrap").status == 0

    @property
    def provision(self) -> Provision:
        found = find_provision(self.world.directory)
        assert found is not None
        return found

    def boot(self) -> Agent:
        """The daemon, as a new process, before its first look."""
        if not self.config.exists():
            self.configure()
        world, clock = self.world, self.world.clock
        self.bell, self.heard = FakeBell(clock=clock), FakeWatch()
        notifier = Notifier()
        pulse = Pulse(notifier=notifier, clock=clock)
        inputs = Inputs(load=self._load, path=self.config, image=world.folder / "none")
        herald = Herald(clock=clock)
        interrupt = Interrupt(bell=self.bell, inputs=inputs, pulse=pulse, clock=clock)
        workplace = world.workplace

        def connect(_spec: NodeSpec | None) -> KubeClient:
            return make_connect(world.host, clock, None)()

        self._agent = Agent(
            host=world.host,
            clock=clock,
            inputs=inputs,
            standings=Standings(directory=world.directory),
            operator=Operator(
                work=Flows(workplace=workplace),
                interrupt=interrupt,
                pulse=pulse,
                clock=clock,
                herald=herald,
                chance=lambda: 0.5,
            ),
            memory=Memory(world.directory, clock),
            herald=herald,
            board=Board(world.folder / "run"),
            bell=self.bell,
            pulse=pulse,
            notifier=notifier,
            config_watch=self.heard,
            managed_watch=FakeWatch(),
            connect=connect,
            find_kubelet_fault=lambda: "",
        )
        self._agent.begin()
        return self._agent

    def live(self, seconds: float) -> AgentStatus:
        """Let the daemon do what it does in that time; what it shows then."""
        agent = self._agent or self.boot()
        clock = self.world.clock
        end = clock.monotonic() + seconds
        while (pause := agent.turn()) < (left := end - clock.monotonic()) or not pause:
            clock.sleep(min(pause, max(left, 0.0)))
        clock.sleep(max(left, 0.0))
        return self.status

    @property
    def status(self) -> AgentStatus:
        return msgspec.json.decode((self.world.folder / "run" / STATUS_FILE).read_bytes(), type=AgentStatus)

    def _load(self) -> Any:
        return load_config(self.config, environ={}, image=self.world.folder / "none")


@contextmanager
def open_scene(**sections: Any) -> Iterator[Scene]:
    """In memory where there is such a thing: an operation writes durably some hundred times."""
    memory = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name,
        open_world(Path(name)) as world,
    ):
        yield Scene(world, sections=sections)
