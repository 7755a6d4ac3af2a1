"""How long work tells what it is doing. The rendering lives with the command line; here is only the seam."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Progress(Protocol):
    """Steps may nest; `note` says something about the innermost one (a figure, a reason, what was reused)."""

    def step(self, title: str) -> AbstractContextManager[None]: ...
    def note(self, text: str) -> None: ...


class Silent:
    """Progress that nobody watches."""

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        yield

    def note(self, text: str) -> None:
        pass
