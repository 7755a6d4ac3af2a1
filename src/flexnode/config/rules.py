"""What a rule of syntax answers: nothing, or what is wrong and how to mend it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wrong:
    """`what` continues the sentence "this value …"."""

    what: str
    hint: str = ""


Rule = Callable[[str], Wrong | None]
