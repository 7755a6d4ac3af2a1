"""How the node is, read from what operations and the agent left behind. Asks nothing of the machine.

It must answer at once, on a broken machine and for a user who is not root too. So nothing is imported here
that can change a machine, and what it reads is declared again, as far as it is told.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")

STATE_ROOT = Path("/var/lib/aks-flex-node")
RUN_ROOT = Path("/run/aks-flex-node")
STATUS_FILE = "status.json"
AGENT_LOCK = "agent.lock"

_TAIL = 1 << 18
"""How many bytes of the event log the last operation is looked for in."""


class _Data(msgspec.Struct, frozen=True, kw_only=True):
    """Scripts read it: no field is ever left out."""


class Fault(_Data, frozen=True, kw_only=True):
    """A failure, as its record tells it."""

    code: str
    kind: str = ""
    message: str = ""
    hint: str = ""


class AgentStatus(_Data, frozen=True, kw_only=True):
    """`status.json`: what the agent says. Readable by everybody, so it holds no secret."""

    version: str
    pid: int
    started: datetime
    updated: datetime
    phase: str
    reason: str  # one word for the Node's condition: what is right, or what is wrong
    message: str
    healthy: bool = False
    desired: str = ""
    node: str = ""
    generation: str = ""
    prepared: bool = False  # `generation` is of no cluster
    failure: Fault | None = None
    retry_at: datetime | None = None
    needs: str = ""  # what a change costs that is not in place yet, if pods have to go for it: drain, reboot
    drift: tuple[str, ...] = ()
    checked: datetime | None = None  # when the whole machine was last compared
    faults: dict[str, str] = {}  # by unit
    advice: tuple[str, ...] = ()  # what only an administrator may do


class Rejected(_Data, frozen=True, kw_only=True):
    """A generation that did not work."""

    reason: str
    when: datetime


class State(_Data, frozen=True, kw_only=True):
    """What is decided about the machine."""

    current: str | None = None
    previous: str | None = None
    rejected: dict[str, Rejected] = {}
    desired: str | None = None
    cordoned: bool = False  # by the product, for a change; what a person cordoned is not its own


class Timing(_Data, frozen=True, kw_only=True):
    """How long a step took, or all steps of one name."""

    name: str
    seconds: float
    key: str = ""


class Provision(_Data, frozen=True, kw_only=True):
    """How the last bootstrap went, or what of it went ahead of the join."""

    operation: str = "bootstrap"
    result: str
    started: datetime
    ended: datetime
    code: str = "ok"
    kind: str = ""
    message: str = ""
    hint: str = ""
    config: str = ""
    generation: str = ""
    timings: tuple[Timing, ...] = ()


class Holder(_Data, frozen=True, kw_only=True):
    """Which process is at work."""

    pid: int = 0
    operation: str = "an operation"
    since: datetime | None = None


class LastOperation(_Data, frozen=True, kw_only=True):
    """What the event log tells of the operation that wrote to it last."""

    operation: str
    started: datetime
    ended: datetime
    outcome: str  # of its last step
    step: str
    result: str = ""  # empty: it runs still, or was cut off
    code: str = ""
    timings: tuple[Timing, ...] = ()


class NodeStatus(_Data, frozen=True, kw_only=True):
    """All of it. None or empty: not there, or `unreadable` names it."""

    agent: AgentStatus | None = None
    agent_runs: bool | None = None  # None: cannot be told by this user
    state: State | None = None
    prepared: bool | None = None  # whether the current generation makes it no node; None: cannot be told
    can_roll_back: bool = True  # as far as can be told: a node is not taken out of its cluster that way
    busy: Holder | None = None
    unfinished: bool = False
    provision: Provision | None = None
    last: LastOperation | None = None
    unreadable: tuple[str, ...] = ()


class _Event(msgspec.Struct, frozen=True):
    at: datetime
    operation: str
    step: str = ""
    start: datetime | None = None
    outcome: str = ""
    result: str = ""  # in the line that an operation ends with
    code: str = ""


class _Sealed(msgspec.Struct, frozen=True):
    payload: State


class _Resource(msgspec.Struct, frozen=True):
    phase: str = "baked"


class _Generation(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] = ()


class _SealedGeneration(msgspec.Struct, frozen=True):
    payload: _Generation


def read_status(*, root: Path = STATE_ROOT, run: Path = RUN_ROOT) -> NodeStatus:
    """Nothing is raised for what is missing, damaged or not for this user's eyes."""
    reader = _Reader()
    agent = reader.decode(run / STATUS_FILE, AgentStatus)
    lock = reader.find_holder(run / AGENT_LOCK)
    sealed = reader.decode(root / "state.json", _Sealed)
    state = sealed.payload if sealed else None
    prepared = reader.is_prepared(root, state.current) if state else None
    before = reader.is_prepared(root, state.previous) if state else None
    return NodeStatus(
        agent=agent,
        agent_runs=_find_agent(agent) if str(run / AGENT_LOCK) in reader.unreadable else lock is not None,
        state=state,
        prepared=prepared,
        can_roll_back=prepared is True or before is not True,
        busy=reader.find_holder(root / "lock"),
        unfinished=reader.exists(root / "journal"),
        provision=reader.decode(root / "provision.json", Provision),
        last=find_last_operation(_parse_events(reader.read_tail(root / "events.jsonl"))),
        unreadable=tuple(reader.unreadable),
    )


def find_last_operation(events: Iterable[_Event]) -> LastOperation | None:
    """The lines at the end of the log that belong to one operation."""
    lines = [each for each in events if each.step or each.result]
    closing = lines.pop() if lines and lines[-1].result else None
    steps: list[_Event] = []
    for event in reversed(lines):
        later = steps[-1] if steps else closing
        if event.result or (later and (event.operation != later.operation or _is_beginning(event, later))):
            break
        steps.append(event)
    steps.reverse()
    told = [*steps, *([closing] if closing else [])]
    if not told:
        return None
    seconds: dict[str, float] = {}
    for step in steps:
        taken = (step.at - (step.start or step.at)).total_seconds()
        seconds[step.step] = seconds.get(step.step, 0.0) + taken
    return LastOperation(
        operation=told[0].operation,
        started=told[0].start or told[0].at,
        ended=told[-1].at,
        outcome=steps[-1].outcome if steps else "",
        step=steps[-1].step if steps else "",
        result=closing.result if closing else "",
        code=closing.code if closing else "",
        timings=tuple(Timing(name=name, seconds=round(total, 3)) for name, total in seconds.items()),
    )


def _find_agent(agent: AgentStatus | None) -> bool | None:
    """For users whom the lock does not tell: whether the process that wrote the status is there still."""
    return None if agent is None else Path(f"/proc/{agent.pid}").exists()


def _is_beginning(event: _Event, later: _Event) -> bool:
    """Whether the later step is the first of another run: what comes first never follows what changes."""
    early = ("plan", "stage")
    return later.step in early and event.step not in early


def _parse_events(data: bytes) -> list[_Event]:
    found = []
    for line in data.splitlines():
        try:
            found.append(msgspec.json.decode(line, type=_Event))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue  # a line that a crash tore
    return found


def _parse_holder(words: bytes) -> Holder:
    """Somebody holds the lock, whatever the words say."""
    try:
        return msgspec.json.decode(words, type=Holder)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Holder()


class _Reader:
    """Reads small files, and remembers which ones it could not."""

    def __init__(self) -> None:
        self.unreadable: dict[str, None] = {}

    def decode(self, path: Path, kind: type[T]) -> T | None:
        data = self._read(path)
        if data is None:
            return None
        try:
            return msgspec.json.decode(data, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            self.unreadable[str(path)] = None
            return None

    def is_prepared(self, root: Path, generation: str | None) -> bool | None:
        """Whether it makes its machine no node; None where there is none, or it cannot be read."""
        path = root / "generations" / f"{generation}.json"
        found = self.decode(path, _SealedGeneration) if generation else None
        return None if found is None else all(each.phase == "baked" for each in found.payload.resources)

    def read_tail(self, path: Path) -> bytes:
        return self._read(path, tail=_TAIL) or b""

    def exists(self, path: Path) -> bool:
        try:
            path.lstat()
        except FileNotFoundError:
            return False
        except OSError:
            self.unreadable[str(path)] = None
            return False
        return True

    def find_holder(self, path: Path) -> Holder | None:
        """Who holds the lock: the kernel tells whether anybody does, the file who it is."""
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError:
            self.unreadable[str(path)] = None
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _parse_holder(os.pread(handle, 4096, 0))
        except OSError:
            self.unreadable[str(path)] = None
        finally:
            os.close(handle)
        return None

    def _read(self, path: Path, *, tail: int = 0) -> bytes | None:
        try:
            with path.open("rb") as file:
                if tail:
                    file.seek(max(0, os.fstat(file.fileno()).st_size - tail))
                return file.read()
        except FileNotFoundError:
            return None
        except OSError:
            self.unreadable[str(path)] = None
            return None
