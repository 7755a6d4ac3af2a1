"""Taking secrets out of texts that others wrote: logs, answers of programs, whatever ends in a bundle."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flexnode.errors import FlexError
from flexnode.secret import Secret, list_living

REDACTED = "<redacted>"

_SHORTEST = 4
"""Shorter values would blacken half of every text, and protect nothing."""

_NAMED = re.compile(
    r"((?:password|passwd|secret|token|api[_-]?key|private[_-]?key|client-key-data|sas)"
    r"[\w-]*[\"']?\s*[:=]\s*[\"']?)([^\s\"',;&}<{]{4,})",
    re.IGNORECASE,
)
"""A value whose name says that it is secret."""

_LOGIN = re.compile(r"://[^\s/@\"':]*:([^\s/@\"']+)@")

# What is kept of each is what stands in its first group.
_PATTERNS = (
    re.compile(r"()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"()\A[\w+/=\s]+-----END [A-Z ]*PRIVATE KEY-----"),  # its beginning was cut off
    re.compile(r"()(?<![a-z0-9.])[a-z0-9]{6}\.[a-z0-9]{16}(?![a-z0-9.])"),  # a bootstrap token
    re.compile(r"()\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)*"),  # a JSON web token
    re.compile(r"(\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/@\"']+@", re.IGNORECASE),  # a login in a URL
    re.compile(r"([?&](?:sig|se|code|key)=)[^\s&\"']+", re.IGNORECASE),
    _NAMED,
)


class Redactor:
    """Blackens values that are known, and what looks like a secret."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = sorted({value for value in values if len(value) >= _SHORTEST}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def clean(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub(REDACTED, text)
        for pattern in _PATTERNS:
            text = pattern.sub(lambda match: f"{match[1]}{REDACTED}", text)
        return text


def clean_living(text: str) -> str:
    """A text that somebody composed just now, without any secret that this process knows."""
    return Redactor(find_secrets(list_living())).clean(text)


def find_named(text: str) -> Iterator[str]:
    """The values in a text whose names say that they are secret, and the passwords in its URLs: for documents
    that cannot be decoded.
    """
    yield from (match[2] for match in _NAMED.finditer(text))
    yield from (match[1] for match in _LOGIN.finditer(text))


def find_secrets(data: Any) -> Iterator[str]:
    """The values of all secrets in decoded configuration; one that cannot be read now is none."""
    if isinstance(data, Secret):
        try:
            value = data.reveal()
        except FlexError:
            return
        yield value
        login, at, _ = value.partition("://")[2].rpartition("@")
        if at:
            yield login.partition(":")[2]
    elif isinstance(data, Mapping):
        for value in data.values():
            yield from find_secrets(value)
    elif isinstance(data, list | tuple):
        for value in data:
            yield from find_secrets(value)
