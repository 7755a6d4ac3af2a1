"""What a fake machine was made to do, one change after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


def _ignore(_moment: str) -> None:
    pass


@dataclass
class Steps:
    """Every change passes here: announced to a hook before and after, and counted once it happened.

    The hook is told "before write /etc/hosts" and "after write /etc/hosts". What it raises is what the
    machine does at that moment: a FlexError is a refusal, any other exception a crash.
    """

    hook: Callable[[str], None] = _ignore
    done: list[str] = field(default_factory=list)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        self.hook(f"before {what}")
        yield
        self.done.append(what)
        self.hook(f"after {what}")
