"""A value that cannot be printed."""

from __future__ import annotations

from typing import Final, NoReturn
from weakref import WeakValueDictionary


class Secret:
    """Holds a credential; only `reveal` gives it out. Neither repr, str, format nor pickle does."""

    __slots__ = ("__weakref__", "_value")

    MASK: Final = "<secret>"

    def __init__(self, value: str) -> None:
        self._value = value
        _living[id(self)] = self

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return self.MASK

    __str__ = __repr__

    def __format__(self, _spec: str) -> str:
        return self.MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret cannot be serialized")


_living: WeakValueDictionary[int, Secret] = WeakValueDictionary()


def list_living() -> tuple[Secret, ...]:
    """All secrets that exist at this moment, for whoever has to keep a text free of them."""
    return tuple(secret for each in _living.valuerefs() if (secret := each()) is not None)
