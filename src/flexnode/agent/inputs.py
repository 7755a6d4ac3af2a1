"""What the agent is told: the configuration as it is now, valid or not, and when it has to be read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from flexnode.config import DIRECTORY, Resolved, digest
from flexnode.config.load import IMAGE_MANIFEST, SUFFIXES
from flexnode.errors import FlexError
from flexnode.generation.outcome import Failure

Load = Callable[[], Resolved]


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """`digest` names the values, whatever the secrets are; `stamp` changes when any of the files does."""

    stamp: str
    digest: str = ""
    resolved: Resolved | None = field(default=None, repr=False)
    failure: Failure | None = None  # why there is no configuration


@dataclass(kw_only=True, slots=True)
class Inputs:
    """Reads the configuration again only when one of its files looks different."""

    load: Load
    path: Path | None = None  # the file that the user named; None: the usual one
    image: Path = IMAGE_MANIFEST
    _references: tuple[str, ...] = ()
    _last: Reading | None = None

    def read(self, *, again: bool = False) -> Reading:
        """The configuration now. `again`: even if nothing seems to have changed."""
        stamp = self._stamp()
        if self._last is not None and self._last.stamp == stamp and not again:
            return self._last
        try:
            resolved = self.load()
        except FlexError as error:
            self._last = Reading(stamp=stamp, failure=Failure.of(error))
            return self._last
        self._references = tuple(sorted(_find_references(resolved.data)))
        # With the files that secrets lie in, which are known only now.
        self._last = Reading(stamp=self._stamp(), digest=digest(resolved), resolved=resolved)
        return self._last

    @property
    def stale(self) -> bool:
        """Whether a file looks different than at the last reading."""
        return self._last is None or self._last.stamp != self._stamp()

    @property
    def paths(self) -> tuple[str, ...]:
        """The files to watch, those that do not exist yet among them."""
        return tuple(str(path) for path in self._places())

    def _places(self) -> Iterator[Path]:
        folder = self.path.parent if self.path else DIRECTORY
        yield from [self.path] if self.path else [folder / f"config{suffix}" for suffix in SUFFIXES]
        drop_ins = folder / "config.d"
        yield drop_ins
        yield from _list(drop_ins)
        yield self.image
        yield from map(Path, self._references)

    def _stamp(self) -> str:
        looks = [f"{path} {_look(path)}" for path in self._places()]
        return sha256("\n".join(looks).encode(errors="surrogateescape")).hexdigest()[:16]


def _find_references(data: Any) -> Iterator[str]:
    """The files that secrets are read from."""
    if not isinstance(data, Mapping):
        return
    if data.keys() == {"file"} and isinstance(data["file"], str):
        yield data["file"]
        return
    for value in data.values():
        yield from _find_references(value)


def _list(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _look(path: Path) -> tuple[int, ...]:
    """What changes when the file is replaced, written, or opened to others."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode
