"""A job and a progress that tests look into."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class FakeJob:
    """Writes `files`; `made` counts how often."""

    files: dict[str, bytes] = field(default_factory=lambda: {"tool": b"content"})
    key: dict[str, object] = field(default_factory=lambda: {"source": "a"})
    during: Callable[[], None] = lambda: None
    made: int = 0
    name: str = "tool-1"
    title: str = "build tool 1"

    def inputs(self) -> Mapping[str, object]:
        return self.key

    def make(self, folder: Path, log: Path) -> None:
        self.made += 1
        log.write_text("compiler output")
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            self.during()


class Steps:
    """Progress that lists the steps; `on_step` is called at the start of each."""

    def __init__(self, on_step: Callable[[str], None] = lambda _title: None) -> None:
        self.titles: list[str] = []
        self._on_step = on_step

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        self.titles.append(title)
        self._on_step(title)
        yield

    def note(self, text: str) -> None:
        self.titles.append(text)
