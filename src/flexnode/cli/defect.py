"""An exception that nobody expected: told so that it can be reported, and without the secrets it may quote.

Every secret that exists is blackened by its value, and what looks like one by its form. Where raw text is
being taken apart, nothing is known yet of the secrets in it: the exception's own words are left out then.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from types import TracebackType
from urllib.parse import quote, urlsplit

from flexnode.errors import FlexError
from flexnode.secret import Secret, list_living

CODE = "internal/defect"

_RAW = ("flexnode.config", "flexnode.kube.kubeconfig", "flexnode.kube.tokens", "flexnode.kube.trust")
"""The modules that meet secrets before they are made a `Secret`."""

_LEFT_OUT = "(what it says is left out: it may quote the configuration)"
_QUOTED = 300
"""How much of an exception's words is shown, in characters."""


def describe_defect(error: Exception) -> FlexError:
    """The failure that is shown in the place of an exception."""
    return FlexError(
        f"internal error: {_render(error, _make_redactor(error))}",
        code=CODE,
        hint="this is a defect of aks-flex-node: please report it, with what `aks-flex-node bundle` collects"
        " and what --log-level debug shows",
    )


def render_traceback(error: Exception) -> str:
    """Where it happened, with the exceptions that led to it, as Python tells it."""
    redact = _make_redactor(error)
    parts = []
    for each in reversed(list(_chain(error))):
        frames = "".join(traceback.format_tb(each.__traceback__))
        parts.append(f"Traceback (most recent call last):\n{frames}{_render(each, redact)}")
    return "\n\nwhich led to:\n\n".join(parts)


def wants_debug(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for all there is: asked of the words, wherever the failure was."""
    pairs = zip(arguments, [*arguments[1:], ""], strict=True)
    return any(
        word.lower() == "--log-level=debug" or (word == "--log-level" and value.lower() == "debug")
        for word, value in pairs
    )


class _Words:
    """What may be shown of an exception's text."""

    def __init__(self, *, raw: bool) -> None:
        from flexnode.flows.redact import Redactor

        self._raw = raw
        self._redactor = Redactor(_known_values())

    def show(self, text: str) -> str:
        if self._raw:
            return _LEFT_OUT
        # On one line only once the secrets are out of it: some have several.
        return " ".join(self._redactor.clean(text).split())[:_QUOTED]


def _make_redactor(error: Exception) -> _Words:
    # What is not told may still be quoted by what is.
    return _Words(raw=any(_meets_raw_text(each.__traceback__) for each in _chain(error, hidden=True)))


def _render(error: BaseException, words: _Words) -> str:
    try:
        text = str(error)
    except Exception:  # an exception whose own text cannot be made
        text = ""
    said = words.show(text) if text else ""
    return f"{type(error).__qualname__}: {said}" if said else type(error).__qualname__


def _chain(error: BaseException, *, hidden: bool = False) -> Iterator[BaseException]:
    """The exception, and what it came from; `hidden`: also where somebody chose not to tell."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        context = current.__context__ if hidden or not current.__suppress_context__ else None
        current = current.__cause__ or context


def _meets_raw_text(trace: TracebackType | None) -> bool:
    names = (str(frame.f_globals.get("__name__", "")) for frame, _ in traceback.walk_tb(trace))
    return any(name == raw or name.startswith(f"{raw}.") for name in names for raw in _RAW)


def _known_values() -> Iterator[str]:
    """Each living secret, as it is and as other texts would write it."""
    for secret in list_living():
        value = _find_value(secret)
        for known in (value, *_split_login(value)):
            yield from (known, repr(known)[1:-1], quote(known, safe=""))


def _find_value(secret: Secret) -> str:
    try:
        return secret.reveal()
    except Exception:  # it lies somewhere that cannot be read now, so nothing can quote it
        return ""


def _split_login(value: str) -> Iterator[str]:
    """The password of an address, which may be quoted by itself."""
    try:
        password = urlsplit(value).password
    except ValueError:
        return
    if password:
        yield password
