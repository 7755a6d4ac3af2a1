"""What is wrong with a configuration: every problem at once, each with its place, its value and a way out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from flexnode.errors import ConfigError

Path = tuple[str | int, ...]

REDACTED: Final = "‹redacted›"  # noqa: RUF001

_SHOWN = 60  # characters of a value that an error quotes
_PLAIN_KEY = re.compile(r"[A-Za-z$_][A-Za-z0-9$_-]*")
_LOGIN = re.compile(r"(?<=://)[^/\s]*@")
# A credential in a place that is not made for one is still a credential.
_CREDENTIALS = re.compile(r"[a-z0-9]{6}\.[a-z0-9]{16}|\beyJ[\w-]{8,}\.[\w.-]+|[\w.~-]{3}\dQ~[\w.~-]{20,}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing that is wrong. `value` is text for people and never a secret's."""

    path: Path
    what: str
    origin: str = ""
    value: str = ""
    hint: str = ""

    def __str__(self) -> str:
        where = f"{self.origin}: " if self.origin else ""
        place = mask(render_path(self.path))
        shown = f"{place} = {self.value}" if place and self.value else place or self.value
        hint = f"; {self.hint}" if self.hint else ""
        return f"{where}{shown}{' ' if shown else ''}{self.what}{hint}"

    def record(self) -> dict[str, str]:
        return {
            "path": mask(render_path(self.path)),
            "problem": self.what,
            "origin": self.origin,
            "value": self.value,
            "hint": self.hint,
        }


@dataclass(kw_only=True, slots=True)
class Report:
    """Gathers problems of one source. `known`: settings by their last name, for hints."""

    origin: str = ""
    known: Mapping[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def add(self, path: Path, what: str, *, value: str = "", hint: str = "") -> None:
        self.problems.append(Problem(path=path, what=what, origin=self.origin, value=value, hint=hint))


class InvalidConfig(ConfigError):
    """A configuration with problems; all of them."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        if len(self.problems) == 1:
            message = str(self.problems[0])
        else:
            lines = "".join(f"\n  {problem}" for problem in self.problems)
            message = f"{len(self.problems)} problems in the configuration:{lines}"
        super().__init__(
            message,
            code="config/invalid",
            hint="correct this, then check with `aks-flex-node config validate`",
        )

    def record(self) -> dict[str, Any]:
        return {**super().record(), "problems": [problem.record() for problem in self.problems]}


def render_path(path: Path) -> str:
    """A place in a document: `node.labels["example.com/a"]`, `artifacts.sources[0]`."""
    import json

    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(_printable(step), ensure_ascii=False)}]"
    return text


def show_value(value: object) -> str:
    """A value as an error may quote it: short, on one line, without what looks like a credential."""
    import json

    if isinstance(value, dict):
        return "{…}" if value else "{}"
    if isinstance(value, list):
        return "[…]" if value else "[]"
    if isinstance(value, str):
        first, newline, _ = value.partition("\n")
        text = mask(first)
        text = text[:_SHOWN] + ("…" if newline or len(text) > _SHOWN else "")
        return json.dumps(_printable(text), ensure_ascii=False)
    if isinstance(value, int) and abs(value) >= 10**_SHOWN:
        return "a huge number"
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    return f"a value of type {type(value).__name__}"


def mask(text: str) -> str:
    """`text` without what looks like a credential."""
    return _CREDENTIALS.sub(REDACTED, _LOGIN.sub(f"{REDACTED}@", text))


def find_similar(word: str, known: Iterable[str]) -> str | None:
    """The known word that was most likely meant."""
    known = list(known)
    folded = _fold(word)
    for candidate in known:
        if _fold(candidate) == folded:
            return candidate
    from difflib import get_close_matches

    close = get_close_matches(folded, [_fold(candidate) for candidate in known], n=1, cutoff=0.65)
    return next((candidate for candidate in known if close and _fold(candidate) == close[0]), None)


def _printable(text: str) -> str:
    """`text` as UTF-8 can hold it: JSON and the environment can bring halves of characters."""
    return text.encode("utf-8", "replace").decode()


def _fold(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "")
