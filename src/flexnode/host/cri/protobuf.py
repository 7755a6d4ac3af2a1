"""Protocol buffers, as far as CRI uses them: messages are frozen dataclasses that declare their fields.

Unknown fields are skipped, so that a newer runtime is understood; what is not a message is a ProtobufError.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import Enum, auto
from typing import Any, TypeVar

M = TypeVar("M")

_KEY = "protobuf"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_BITS64 = (1 << 64) - 1


class ProtobufError(ValueError):
    """These bytes are not a message."""


class Kind(Enum):
    """How a field is written."""

    TEXT = auto()
    NUMBER = auto()
    FLAG = auto()
    MESSAGE = auto()
    PAIR = auto()  # an entry of a map from text to text


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """A field's number and how it is written. `of`: the class of a message."""

    number: int
    kind: Kind
    repeated: bool = False
    of: Any = None


def text(number: int) -> Any:
    return field(default="", metadata={_KEY: Field(number=number, kind=Kind.TEXT)})


def texts(number: int) -> Any:
    return field(default=(), metadata={_KEY: Field(number=number, kind=Kind.TEXT, repeated=True)})


def number(number: int) -> Any:
    """A whole number or an enumeration, of up to 64 bits, negative ones too."""
    return field(default=0, metadata={_KEY: Field(number=number, kind=Kind.NUMBER)})


def flag(number: int) -> Any:
    return field(default=False, metadata={_KEY: Field(number=number, kind=Kind.FLAG)})


def message(number: int, of: type) -> Any:
    return field(default=None, metadata={_KEY: Field(number=number, kind=Kind.MESSAGE, of=of)})


def messages(number: int, of: type) -> Any:
    return field(default=(), metadata={_KEY: Field(number=number, kind=Kind.MESSAGE, repeated=True, of=of)})


def mapping(number: int) -> Any:
    """From text to text."""
    return field(default_factory=dict, metadata={_KEY: Field(number=number, kind=Kind.PAIR, repeated=True)})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Pair:
    key: str = text(1)
    value: str = text(2)


def encode(value: Any) -> bytes:
    """The bytes of a message. A field that has its default is left out, as proto3 has it."""
    out = bytearray()
    for each, name in _declared(type(value)):
        content = getattr(value, name)
        if each.kind is Kind.PAIR:
            content = [_Pair(key=key, value=word) for key, word in content.items()]
        for item in content if each.repeated else [content]:
            if each.repeated or item not in ("", 0, False, None):
                out += _encode_field(each, item)
    return bytes(out)


def decode(of: type[M], data: bytes) -> M:
    """The message that `data` holds; the last of several values of a single field counts."""
    known = {each.number: (each, name) for each, name in _declared(of)}
    values: dict[str, Any] = {}
    for number_, wire, content in _split(data):
        if number_ not in known:
            continue
        each, name = known[number_]
        value = _decode_field(each, wire, content)
        if each.kind is Kind.PAIR:
            values.setdefault(name, {})[value.key] = value.value
        elif each.repeated:
            values[name] = (*values.get(name, ()), value)
        else:
            values[name] = value
    return of(**values)


def _declared(of: type) -> Iterator[tuple[Field, str]]:
    return ((each.metadata[_KEY], each.name) for each in fields(of))


def _encode_field(each: Field, item: Any) -> bytes:
    if each.kind in (Kind.NUMBER, Kind.FLAG):
        return _varint(each.number << 3 | _VARINT) + _varint(int(item) & _BITS64)
    body = item.encode() if each.kind is Kind.TEXT else encode(item)
    return _varint(each.number << 3 | _BYTES) + _varint(len(body)) + body


def _decode_field(each: Field, wire: int, content: int | bytes) -> Any:
    if isinstance(content, int):
        if wire != _VARINT or each.kind not in (Kind.NUMBER, Kind.FLAG):
            raise ProtobufError(f"field {each.number} is a number, and should not be")
        return bool(content) if each.kind is Kind.FLAG else content - (content >> 63 << 64)
    if each.kind is Kind.TEXT:
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise ProtobufError(f"field {each.number} is not text") from error
    if each.kind in (Kind.MESSAGE, Kind.PAIR):
        return decode(_Pair if each.kind is Kind.PAIR else each.of, content)
    raise ProtobufError(f"field {each.number} should be a number")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _split(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """The fields of a message: number, way of writing, content."""
    position = 0
    while position < len(data):
        key, position = _read_varint(data, position)
        number_, wire = key >> 3, key & 7
        if number_ == 0:
            raise ProtobufError("a field has the number 0")
        if wire == _VARINT:
            content, position = _read_varint(data, position)
            yield number_, wire, content
            continue
        if wire == _BYTES:
            length, position = _read_varint(data, position)
        elif wire in (_FIXED64, _FIXED32):
            length = 8 if wire == _FIXED64 else 4
        else:
            raise ProtobufError(f"field {number_} is written in the unknown way {wire}")
        if position + length > len(data):
            raise ProtobufError("the message ends in the middle of a field")
        chunk = data[position : position + length]
        position += length
        yield number_, wire, int.from_bytes(chunk, "little") if wire != _BYTES else chunk


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise ProtobufError("the message ends in the middle of a number")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _BITS64, position
    raise ProtobufError("a number has more than 64 bits")
