"""The types that a setting can have: what it accepts, how it says no, and how a schema says the same.

Each type decodes a JSON value into its accepted form or reports every problem in it; decoded data holds no
literal secret, only `Secret` objects in their place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from flexnode.config.problems import REDACTED, Path, Report, find_similar, mask, show_value
from flexnode.config.rules import Rule, Wrong
from flexnode.secret import Secret

WRONG: Final = object()
"""What decoding a value gives that was not accepted."""


class UrlWithLogin(Secret):
    """A URL that holds a user or a password: a secret, of which the rest may be shown."""

    __slots__ = ()

    @property
    def shown(self) -> str:
        return mask(self.reveal())


LINE = r"[^\x00-\x1f\x7f]+"
LINES = r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+"
CREDENTIAL_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}"
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # JSON can write them, UTF-8 cannot


class ValueType(Protocol):
    """What a setting's value may be."""

    @property
    def words(self) -> str: ...
    def decode(self, value: object, at: Path, report: Report) -> Any: ...
    def schema(self) -> dict[str, Any]: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """Text that matches a pattern as a whole and breaks no rule.

    `login`: a URL in it may hold a password. `blank`: it may be empty. `most`: how long it may be.
    """

    words: str = "text"
    pattern: str = LINE
    rules: tuple[Rule, ...] = ()
    hint: str = ""
    examples: tuple[str, ...] = ()
    login: bool = False
    blank: bool = False
    most: int = 2048

    def decode(self, value: object, at: Path, report: Report) -> Any:
        if not isinstance(value, str):
            hint = self.hint
            if isinstance(value, bool | int | float) and self.find_fault(show_value(value)) is None:
                hint = f'write it in quotes: "{show_value(value)}"'
            report.add(at, f"is not {self.words}", value=show_value(value), hint=hint)
            return WRONG
        if wrong := self.find_fault(value):
            report.add(at, wrong.what, value=show_value(value), hint=wrong.hint)
            return WRONG
        return UrlWithLogin(value) if self.login and has_login(value) else value

    def find_fault(self, value: str) -> Wrong | None:
        if not value and self.blank:
            return None
        if not value:
            return Wrong("is empty", hint="leave the key out to leave it unset")
        if REDACTED in value:
            return Wrong("was redacted when it was shown", hint="put the real value back")
        if len(value) > self.most:
            return Wrong(f"is longer than {self.most} characters")
        if _SURROGATE.search(value):
            return Wrong("holds half of a character", hint="check its \\u escapes")
        if not re.fullmatch(self.pattern, value):
            return Wrong(f"is not {self.words}", hint=self.hint)
        return next((wrong for rule in self.rules if (wrong := rule(value))), None)

    def schema(self) -> dict[str, Any]:
        optional = "?" if self.blank else ""
        said: dict[str, Any] = {"type": "string", "pattern": f"^(?:{self.pattern}){optional}$"}
        said["maxLength"] = self.most
        if not self.blank:
            said["minLength"] = 1
        return {**said, "examples": list(self.examples)} if self.examples else said


@dataclass(frozen=True, kw_only=True, slots=True)
class SecretText:
    """A secret: literally, or where to read it when it is needed."""

    inner: Text

    @property
    def words(self) -> str:
        return f'{self.inner.words}, {{"file": PATH}} or {{"credential": NAME}}'

    def decode(self, value: object, at: Path, report: Report) -> Any:
        if isinstance(value, str):
            if wrong := self.inner.find_fault(value):
                report.add(at, wrong.what, hint=wrong.hint)
                return WRONG
            if self.inner.login:
                return UrlWithLogin(value) if has_login(value) else value
            return Secret(value)
        if not isinstance(value, dict):
            report.add(at, f"is not {self.words}")
            return WRONG
        if len(value) != 1 or not value.keys() <= {"file", "credential"}:
            report.add(at, 'names no place to read it from: write {"file": PATH} or {"credential": NAME}')
            return WRONG
        ((kind, place),) = value.items()
        found = _REFERENCES[kind].decode(place, (*at, kind), report)
        return WRONG if found is WRONG else {kind: found}

    def schema(self) -> dict[str, Any]:
        references = [
            {
                "type": "object",
                "description": text,
                "properties": {kind: _REFERENCES[kind].schema()},
                "required": [kind],
                "additionalProperties": False,
            }
            for kind, text in (
                ("file", "Read from this file when it is needed."),
                ("credential", "Read from this systemd credential of the agent's unit."),
            )
        ]
        return {"oneOf": [self.inner.schema(), *references]}


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""

    words: str = "true or false"

    def decode(self, value: object, at: Path, report: Report) -> Any:
        if isinstance(value, bool):
            return value
        hint = "write it without quotes" if value in ("true", "false") else ""
        report.add(at, f"is not {self.words}", value=show_value(value), hint=hint)
        return WRONG

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Whole:
    """A whole number within bounds. `besides`: numbers out of bounds that mean something of their own."""

    least: int
    most: int
    besides: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        extra = "".join(f"{number} or " for number in self.besides)
        return f"{extra}a whole number from {self.least} to {self.most}"

    def decode(self, value: object, at: Path, report: Report) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            if self.least <= value <= self.most or value in self.besides:
                return value
            hint = ""
        else:
            digits = isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value)
            hint = "write it without quotes" if digits else ""
        report.add(at, f"is not {self.words}", value=show_value(value), hint=hint)
        return WRONG

    def schema(self) -> dict[str, Any]:
        bounds = {"type": "integer", "minimum": self.least, "maximum": self.most}
        if not self.besides:
            return bounds
        return {"anyOf": [bounds, {"enum": list(self.besides)}]}


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """One of a few words."""

    options: tuple[str, ...]

    @property
    def words(self) -> str:
        *others, last = self.options
        return f"{', '.join(others)} or {last}" if others else last

    def decode(self, value: object, at: Path, report: Report) -> Any:
        if isinstance(value, str) and value in self.options:
            return value
        similar = find_similar(value, self.options) if isinstance(value, str) else None
        hint = f"did you mean {similar}?" if similar else ""
        report.add(at, f"is not {self.words}", value=show_value(value), hint=hint)
        return WRONG

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.options)}


@dataclass(frozen=True, kw_only=True, slots=True)
class ListOf:
    """A list in which nothing occurs twice. A stronger source replaces it as a whole."""

    item: ValueType
    least: int = 0

    @property
    def words(self) -> str:
        return f"a list, each {self.item.words}"

    def decode(self, value: object, at: Path, report: Report) -> Any:
        if not isinstance(value, list):
            hint = "write a list, also for one" if isinstance(value, str | dict) else ""
            report.add(at, "is not a list", value=show_value(value), hint=hint)
            return WRONG
        found = [self.item.decode(item, (*at, index), report) for index, item in enumerate(value)]
        if len(value) < self.least:
            report.add(at, "is empty", value="[]", hint="leave the key out to leave it unset")
            return WRONG
        for index, item in enumerate(found):
            if item is not WRONG and item in found[:index]:
                report.add((*at, index), "is in the list already", value=show_value(redact(item)))
                return WRONG
        return WRONG if any(item is WRONG for item in found) else found

    def schema(self) -> dict[str, Any]:
        said = {"type": "array", "items": self.item.schema(), "uniqueItems": True}
        return {**said, "minItems": self.least} if self.least else said


@dataclass(frozen=True, kw_only=True, slots=True)
class MapOf:
    """A map whose keys the user chooses. Entries of stronger sources are added and win."""

    key: Text | Choice
    value: ValueType
    words: str = "a map"

    def decode(self, value: object, at: Path, report: Report) -> Any:
        if not isinstance(value, dict):
            report.add(at, "is not a map", value=show_value(value))
            return WRONG
        found = {}
        for name, item in value.items():
            place = (*at, name)
            wrong = self._find_fault(name)
            if wrong:
                report.add(place, f"has a key that {wrong.what}", hint=wrong.hint)
            decoded = self.value.decode(item, place, report)
            if not wrong and decoded is not WRONG:
                found[name] = decoded
        return found

    def _find_fault(self, name: str) -> Wrong | None:
        if isinstance(self.key, Text):
            return self.key.find_fault(name)
        if name in self.key.options:
            return None
        similar = find_similar(name, self.key.options)
        return Wrong(f"is not {self.key.words}", hint=f"did you mean {similar}?" if similar else "")

    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "propertyNames": self.key.schema(),
            "additionalProperties": self.value.schema(),
        }


def redact(value: Any) -> Any:
    """Decoded data as it may be shown: no secret, and places that secrets come from as they are."""
    if isinstance(value, UrlWithLogin):
        return value.shown
    if isinstance(value, Secret):
        return REDACTED
    if isinstance(value, Mapping):
        return {key: redact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [redact(item) for item in value]
    return value


def holds_secret(value: Any) -> bool:
    """Whether decoded data holds a secret itself, not only the place of one."""
    if isinstance(value, Mapping):
        return any(holds_secret(item) for item in value.values())
    if isinstance(value, list):
        return any(holds_secret(item) for item in value)
    return isinstance(value, Secret)


def has_login(url: str) -> bool:
    """Whether a URL holds a user or a password."""
    _, separator, rest = url.partition("://")
    return bool(separator) and "@" in rest.partition("/")[0]


_REFERENCES: Mapping[str, Text] = {
    "file": Text(words="an absolute path", pattern=r"/[^\x00-\x1f\x7f]*", examples=("/etc/secrets/token",)),
    "credential": Text(words="a credential's name", pattern=CREDENTIAL_NAME, examples=("token",)),
}
