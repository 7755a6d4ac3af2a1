"""How one kind of managed thing is looked at and brought to a state."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from flexnode.host.door import Host
from flexnode.resources.state import Blob, Content, State


class Contents(Protocol):
    """Where the bytes behind a `Content` come from, and where the user's own are kept."""

    def resolve(self, content: Content) -> bytes | Path:
        """The bytes, or a verified file that holds them; secrets are filled in here and nowhere else."""
        ...

    def digest(self, content: Content) -> str:
        """The SHA-256 of what `resolve` gives."""
        ...

    def keep(self, data: bytes | Path) -> Blob:
        """Store bytes durably, by digest; a Path is a file that `host.files` can be asked for as bytes."""
        ...


class Handler(Protocol):
    """One kind. `name` is the key without the kind: a path, a sysctl's key, a unit's name."""

    def observe(self, host: Host, name: str, want: State, contents: Contents) -> State:
        """What is there now, as deep as `want` asks. Changes nothing, keeps nothing."""
        ...

    def matches(self, want: State, found: State, contents: Contents) -> bool:
        """Whether `found` is as good as `want`."""
        ...

    def put(self, host: Host, name: str, state: State, contents: Contents) -> None:
        """Bring it to `state`, a wanted or an earlier observed one. Safe to repeat after a crash."""
        ...

    def preserve(self, host: Host, name: str, found: State, contents: Contents) -> None:
        """Make sure that `put(found)` will be possible later: keep the bytes that the change overwrites."""
        ...
