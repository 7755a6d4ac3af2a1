"""A machine, a resource on it, and what activation does with the two."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from flexnode.host.door import Host
from flexnode.host.fake import FakeHost
from flexnode.resources.handler import Handler
from flexnode.resources.registry import make_handlers
from flexnode.resources.state import Blob, Content, Member, Secret, State, Text


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class KeptContents:
    """Contents in a folder, by digest; `secrets` are filled in, `kept` lists what was preserved."""

    def __init__(self, folder: Path) -> None:
        self.secrets = {"token": "abcdef.0123456789abcdef"}
        self.kept: list[str] = []
        self._folder = folder

    def stage(self, data: bytes) -> str:
        """Lay a file there, as fetching would; answer its digest."""
        (self._folder / sha256(data)).write_bytes(data)
        return sha256(data)

    def resolve(self, content: Content) -> bytes | Path:
        match content:
            case Text(text=text):
                return text.encode()
            case Blob(sha256=digest) | Member(artifact=digest):
                path = self._folder / digest
                assert path.exists(), f"{digest} was neither staged nor kept"
                return path
            case Secret(template=text, names=names):
                for name in names:
                    text = text.replace("{{" + name + "}}", self.secrets[name])
                return text.encode()

    def digest(self, content: Content) -> str:
        found = self.resolve(content) if not isinstance(content, Blob) else content.sha256
        return (
            found
            if isinstance(found, str)
            else sha256(found if isinstance(found, bytes) else found.read_bytes())
        )

    def keep(self, data: bytes | Path) -> Blob:
        assert isinstance(data, bytes)
        self.kept.append(sha256(data))
        return Blob(sha256=self.stage(data))


class Crash(BaseException):
    """kill -9, at a moment of a test's choice."""


@dataclass
class Moments:
    """A hook that lists every moment before and after a change, and ends the process at one of them."""

    fatal: int = -1
    seen: list[str] = field(default_factory=list)

    def __call__(self, moment: str) -> None:
        self.seen.append(moment)
        if len(self.seen) - 1 == self.fatal:
            raise Crash(moment)


@dataclass
class Managed:
    """One resource on one machine, handled as activation handles it."""

    host: Host
    key: str
    want: State
    contents: KeptContents
    handler: Handler

    @property
    def name(self) -> str:
        return self.key.partition(":")[2]

    def find(self, want: State | None = None) -> State:
        return self.handler.observe(self.host, self.name, want or self.want, self.contents)

    def is_as_wanted(self, want: State | None = None) -> bool:
        return self.handler.matches(want or self.want, self.find(want), self.contents)

    def converge(self) -> State | None:
        """Bring it to what is wanted; answer what was there before, None if nothing had to be done."""
        found = self.find()
        if self.handler.matches(self.want, found, self.contents):
            return None
        self.handler.preserve(self.host, self.name, found, self.contents)
        self.handler.put(self.host, self.name, self.want, self.contents)
        return found

    def undo(self, before: State) -> None:
        """Return to `before`, as another process that reads it from the ledger does."""
        state = msgspec.json.decode(msgspec.json.encode(before), type=State)
        if not self.is_as_wanted(state):
            self.handler.put(self.host, self.name, state, self.contents)


def manage(host: Host, key: str, want: State, folder: Path) -> Managed:
    """`folder` holds what is staged and kept."""
    handler = make_handlers()[key.partition(":")[0]]
    return Managed(host=host, key=key, want=want, contents=KeptContents(folder), handler=handler)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """What is wanted of a resource on a machine that `scene` prepared."""

    name: str
    key: str
    want: State
    scene: Callable[[FakeHost], None] = lambda _host: None
    staged: tuple[bytes, ...] = ()
    spoil: Callable[[FakeHost], None] | None = None
    """What somebody does to it later."""

    def manage(self, folder: Path) -> Managed:
        host = FakeHost()
        self.scene(host)
        host.writes.clear()
        managed = manage(host, self.key, self.want, folder)
        for data in self.staged:
            managed.contents.stage(data)
        return managed
